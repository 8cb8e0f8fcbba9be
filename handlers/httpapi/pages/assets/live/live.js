// The page /live: sends video to the service and shows its answers.
import { Account } from "./account.js";
import { tokenProblem } from "./api.js";
import { draw, list } from "./boxes.js";
import { testConnection } from "./connection.js";
import { Session } from "./session.js";
import { open } from "./source.js";
import { answerWords, clock, connectionWords, count, endAdvice, endTitle, errorWords, percent, whyWords } from "./words.js";
// How often the sent size and rate are read, in milliseconds.
const statsEvery = 1000;
function find(id, kind) {
    const element = document.getElementById(id);
    if (!(element instanceof kind))
        throw new Error(`The page has no ${kind.name} ${id}.`);
    return element;
}
const form = find("form", HTMLFormElement);
const token = find("token", HTMLInputElement);
const tokenField = find("token-field", HTMLElement);
const accountNote = find("account", HTMLElement);
const tokenError = find("token-error", HTMLElement);
const file = find("file", HTMLInputElement);
const fileField = find("file-field", HTMLElement);
const source = find("source", HTMLFieldSetElement);
const question = find("question", HTMLInputElement);
const startButton = find("start", HTMLButtonElement);
const updateButton = find("update", HTMLButtonElement);
const endButton = find("end", HTMLButtonElement);
const testButton = find("test", HTMLButtonElement);
const connection = find("connection", HTMLElement);
const view = find("view", HTMLVideoElement);
const boxes = find("boxes", HTMLCanvasElement);
const state = find("state", HTMLElement);
const trouble = find("trouble", HTMLElement);
const outcome = find("outcome", HTMLElement);
const testMode = find("test-mode", HTMLElement);
const shown = {
    asked: find("asked", HTMLElement),
    answer: find("answer", HTMLElement),
    why: find("why", HTMLElement),
    confidence: find("confidence", HTMLElement),
    objects: find("objects", HTMLElement),
    clock: find("clock", HTMLElement),
    billed: find("billed", HTMLElement),
    credits: find("credits", HTMLElement),
    sent: find("sent", HTMLElement),
};
// account is the signed-in person. It takes the place of a client token.
let account = null;
// The compiled form of the current question.
let asked = null;
let session = null;
let video = null;
let stats;
let detections = [];
// say changes a text only when it is another one, so that screen readers do not repeat it.
function say(element, text) {
    if (element.textContent !== text)
        element.textContent = text;
}
function show(objects) {
    detections = objects;
    draw(boxes, view, objects);
    say(shown.objects, list(objects));
}
function chosen() {
    return new FormData(form).get("source");
}
// phase shows what the page does. The name is for styles and for tests.
function phase(name, text) {
    document.body.dataset["phase"] = name;
    say(state, text);
    const running = name !== "idle" && name !== "ended";
    startButton.hidden = running;
    testButton.hidden = running;
    source.disabled = running;
    endButton.hidden = !running;
    endButton.disabled = name === "starting";
    updateButton.hidden = name !== "live";
}
function showAccount() {
    tokenField.hidden = account !== null;
    token.required = account === null;
    accountNote.hidden = account === null;
    find("account-id", HTMLElement).textContent = account?.id ?? "";
}
function signedOut() {
    account = null;
    showAccount();
    say(trouble, "You are signed out. Sign in again, or paste a client token.");
}
function credential() {
    return account?.token ?? token.value.trim();
}
function checkToken() {
    if (account)
        return true;
    const problem = tokenProblem(token.value.trim());
    say(tokenError, problem);
    token.setAttribute("aria-invalid", String(problem !== ""));
    if (problem !== "")
        token.focus();
    return problem === "";
}
async function start() {
    say(trouble, "");
    outcome.hidden = true;
    if (!checkToken())
        return;
    const prompt = question.value.trim();
    if (prompt === "") {
        say(trouble, "Enter a question.");
        question.focus();
        return;
    }
    // A disabled field has no value.
    const kind = chosen();
    phase("starting", "Opening the video…");
    for (const field of Object.values(shown))
        say(field, "–");
    say(shown.why, "");
    testMode.hidden = true;
    say(shown.asked, prompt);
    try {
        video = await open(kind, file.files?.[0] ?? null, view);
        say(state, "Creating the stream…");
        const [track] = video.media.getVideoTracks();
        if (!track)
            throw new Error("There is no video to send.");
        // The browser ends the track when the person stops sharing the screen or unplugs the camera.
        track.onended = () => session?.end();
        session = await Session.start(prompt, track, credential, { message: receive, trouble: (text) => say(trouble, text), ended });
        asked = session.stream.query;
    }
    catch (error) {
        close();
        phase("idle", "Not started.");
        say(trouble, errorWords(error));
        startButton.focus();
        return;
    }
    phase("connecting", "Connecting…");
    endButton.focus();
    stats = setInterval(() => void showSent(), statsEvery);
}
// test shows which ways to the service work. A failed test says why a stream would end as ice_failed.
async function test() {
    say(trouble, "");
    if (!checkToken())
        return;
    testButton.disabled = true;
    say(connection, "Testing the connection…");
    try {
        say(connection, connectionWords(await testConnection(credential())));
    }
    catch (error) {
        say(connection, "");
        say(trouble, errorWords(error));
    }
    finally {
        testButton.disabled = false;
    }
}
function receive(message) {
    switch (message.type) {
        case "ready":
            if (document.body.dataset["phase"] !== "live")
                phase("connecting", "Connecting…");
            break;
        case "queued": {
            const wait = message.estimated_start_s === null ? "" : `, about ${count(message.estimated_start_s, "second")}`;
            phase("queued", `Waiting for a free place: number ${message.position} in the queue${wait}.`);
            break;
        }
        case "live":
            phase("live", "Live.");
            break;
        case "result":
            if (document.body.dataset["phase"] !== "live")
                phase("live", "Live.");
            say(shown.answer, answerWords(message, asked));
            say(shown.why, whyWords(message));
            testMode.hidden = !session?.canned;
            say(shown.confidence, percent(message.confidence));
            say(shown.clock, clock(message.t_s));
            show(message.detections);
            break;
        case "prompt_updated":
            say(shown.asked, message.prompt);
            asked = message.query;
            // The old answer is not one to the new question.
            say(shown.answer, "–");
            say(shown.why, "");
            say(shown.confidence, "–");
            testMode.hidden = true;
            show([]);
            break;
        case "metering":
            say(shown.clock, clock(message.elapsed_s));
            say(shown.billed, count(message.billed_seconds, "second"));
            say(shown.credits, count(message.balance_seconds, "second"));
            break;
        case "warning":
            say(trouble, `The stream ends in ${count(message.remaining_s, "second")}.`);
            break;
        case "error":
            say(trouble, message.message);
            break;
    }
}
async function showSent() {
    const now = await session?.sent();
    if (now)
        say(shown.sent, `${now.width} × ${now.height} at ${Math.round(now.fps)} fps`);
}
function ended(reason, stream) {
    close();
    say(trouble, "");
    phase("ended", "Ended.");
    find("outcome-title", HTMLElement).textContent = endTitle(reason);
    find("outcome-advice", HTMLElement).textContent = endAdvice(reason, stream);
    if (stream?.usage) {
        say(shown.billed, count(stream.usage.billed_seconds, "second"));
        if (stream.usage.credit_balance_after !== null)
            say(shown.credits, count(stream.usage.credit_balance_after, "second"));
    }
    outcome.dataset["reason"] = reason;
    outcome.hidden = false;
    outcome.focus();
}
function close() {
    clearInterval(stats);
    video?.close();
    video = null;
    session = null;
    show([]);
}
form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!startButton.hidden)
        return void start();
    const asked = question.value.trim();
    if (asked !== "" && session && !session.updatePrompt(asked))
        say(trouble, "The connection is not ready. Try again in a moment.");
});
endButton.addEventListener("click", () => {
    endButton.disabled = true;
    say(state, "Ending…");
    session?.end();
});
testButton.addEventListener("click", () => void test());
source.addEventListener("change", () => {
    fileField.hidden = chosen() !== "file";
});
token.addEventListener("change", () => void checkToken());
window.addEventListener("pagehide", () => session?.abandon());
new ResizeObserver(() => draw(boxes, view, detections)).observe(view);
fileField.hidden = chosen() !== "file";
account = await Account.open(signedOut);
showAccount();
startButton.disabled = false;
testButton.disabled = false;
