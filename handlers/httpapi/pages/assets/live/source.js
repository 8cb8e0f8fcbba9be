// Opens the camera, the screen or a file as the video to send.
const ideal = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
// The browser is not asked for sound: the service does not use it.
export async function open(kind, file, view) {
    try {
        if (kind === "file")
            return await openFile(file, view);
        if (!navigator.mediaDevices) {
            throw new Error("The browser allows the camera and the screen only on pages with https, or on this computer.");
        }
        const media = kind === "camera"
            ? await navigator.mediaDevices.getUserMedia({ video: ideal, audio: false })
            : await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 15 } }, audio: false });
        view.srcObject = media;
        await view.play();
        return { media, close: () => release(media, view) };
    }
    catch (error) {
        throw explained(kind, error);
    }
}
async function openFile(file, view) {
    if (!file)
        throw new Error("Choose a video file.");
    const url = URL.createObjectURL(file);
    view.srcObject = null;
    view.src = url;
    view.loop = true;
    try {
        await view.play();
    }
    catch {
        URL.revokeObjectURL(url);
        throw new Error("The browser cannot play this file. Choose another one, for example an MP4 with H.264.");
    }
    // The types of the browser lack captureStream, because Safari does not have it.
    const capture = view.captureStream;
    if (!capture)
        throw new Error("This browser cannot send a file. Use a browser such as Chromium, or send the camera.");
    const media = capture.call(view);
    if (media.getVideoTracks().length === 0)
        throw new Error("The file has no video.");
    return {
        media,
        close: () => {
            release(media, view);
            view.removeAttribute("src");
            view.load();
            URL.revokeObjectURL(url);
        },
    };
}
function release(media, view) {
    for (const track of media.getTracks())
        track.stop();
    view.srcObject = null;
}
function explained(kind, error) {
    if (!(error instanceof DOMException))
        return error;
    switch (error.name) {
        case "NotAllowedError":
            return new Error(`The browser does not allow the ${kind}. Allow it in the settings of this page, then start again.`);
        case "NotFoundError":
            return new Error(`The browser found no ${kind}.`);
        case "NotReadableError":
            return new Error(`The ${kind} cannot be opened. Close other programs that use it, then start again.`);
        default:
            return error;
    }
}
