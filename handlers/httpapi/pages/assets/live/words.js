// The texts of the page that depend on codes of the service.
import { ApiError } from "./api.js";
import { ways } from "./connection.js";
// Each end reason: what happened, and what to do.
const ends = {
    completed: ["The stream has ended.", "Start another one at any time."],
    canceled: ["The stream ended before it was live.", "Start another one at any time."],
    insufficient_credits: [
        "The credits of the account are used up.",
        "The operator of the service adds some with vqa credits grant. Then start another stream.",
    ],
    timeout: ["The stream has reached the longest session that the service allows.", "Start another stream to continue."],
    ice_failed: [
        "Your browser and the service found no network path to each other.",
        "Try another network, without a VPN, or ask the operator of the service for a relay.",
    ],
    media_timeout: [
        "The connection works, but no picture or no answer arrived in time.",
        "Check that the picture on this page moves, then start another stream.",
    ],
    error: ["The service failed.", "Wait a minute, then start another stream. Seconds without video are not billed."],
};
// endTitle says what happened to a stream.
export function endTitle(reason) {
    return ends[reason]?.[0] ?? `The stream has ended (${reason}).`;
}
// endAdvice says what to do, with the likely cause that the service found and with the bill.
export function endAdvice(reason, stream) {
    const parts = [stream?.failure_diagnostic?.hint ?? "", ends[reason]?.[1] ?? ""];
    if (stream?.usage) {
        const { billed_seconds: billed, credit_balance_after: left } = stream.usage;
        if (billed > 0 && stream.results_summary?.result_frames === 0)
            parts.push("The model gave no answer in this time.");
        parts.push(billed === 0 ? "Nothing was billed." : `Billed: ${count(billed, "second")}.`);
        if (left !== null)
            parts.push(`Credits left: ${count(left, "second")}.`);
    }
    return parts.filter((part) => part !== "").join(" ");
}
// Errors that this page can explain better than the message of the service.
const errors = {
    token_expired: "The client token has expired. Create another one and paste it above.",
    insufficient_scope: "The client token lacks a scope. Create one with the scopes streams:create and streams:signal.",
    stream_already_active: "The account already has a stream. If this page was closed while it was live, the stream ends within a minute; then start again.",
    capacity_exhausted: "The service is full. Start again in a few minutes.",
};
export function errorWords(error, streamID = "") {
    if (error instanceof ApiError && error.code === "token_expired" && streamID !== "")
        return `The client token has expired. Create another one with "stream_id": "${streamID}", and paste it above.`;
    if (error instanceof ApiError)
        return errors[error.code] ?? error.message;
    if (error instanceof TypeError)
        return "The service cannot be reached. Check your network connection.";
    return error instanceof Error ? error.message : String(error);
}
const wayNames = { udp: "UDP", tcp: "TCP", relay: "Relay" };
// connectionWords says which ways to the service work, and what to do when none does.
export function connectionWords(connection) {
    const each = ways.map((way) => {
        const report = connection[way];
        const result = !report ? "not offered by the service" : report.connected ? `works, ${report.connect_ms ?? 0} ms` : "does not work";
        return `${wayNames[way]}: ${result}.`;
    });
    const works = ways.some((way) => connection[way]?.connected);
    if (works)
        return `${each.join(" ")} Your video can reach the service.`;
    const hint = connection.udp?.hint;
    // The hint is for the operator, who can change the network of the service.
    return `${each.join(" ")} Your video cannot reach the service. ${ends.ice_failed[1]}${hint ? ` The service says: ${hint}` : ""}`;
}
export function answerWords(result, asked) {
    if (result.answer === "indeterminate")
        return "not certain";
    if (asked?.prompt_intent === "count" && result.detected_count !== null)
        return String(result.detected_count);
    if (result.detected_count !== null)
        return `${result.answer}, ${result.detected_count} visible`;
    return result.answer;
}
// Why there is no answer.
const reasons = {
    low_confidence: "The model found something, but its confidence is too low for an answer.",
    nothing_detected: "The model found nothing, or does not know what the question names.",
};
// whyWords says why an answer is not certain, or nothing.
export function whyWords(result) {
    if (result.unsupported_action)
        return `${result.unsupported_action.reason} Nothing is billed until you change the question.`;
    return reasons[result.indeterminate_reason ?? ""] ?? "";
}
export function percent(part) {
    return `${Math.round(100 * part)}%`;
}
// clock writes seconds as 1:05 or 1:00:05.
export function clock(seconds) {
    const whole = Math.floor(seconds);
    const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const two = (n) => String(n).padStart(2, "0");
    return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}
export function count(n, noun) {
    return `${n.toLocaleString("en-US")} ${noun}${n === 1 ? "" : "s"}`;
}
