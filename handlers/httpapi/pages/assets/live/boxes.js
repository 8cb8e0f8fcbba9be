// Draws the boxes of a result over the picture.
import { percent } from "./words.js";
// Sizes in CSS pixels.
const line = 3;
const font = 14;
// draw replaces the boxes on the canvas, which has the same place as the video. The picture is in its middle, as large
// as fits.
export function draw(canvas, view, detections) {
    const scale = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = canvas;
    canvas.width = Math.round(clientWidth * scale);
    canvas.height = Math.round(clientHeight * scale);
    const pen = canvas.getContext("2d");
    if (!pen || !view.videoWidth)
        return;
    const ratio = view.videoWidth / view.videoHeight;
    const width = Math.min(clientWidth, clientHeight * ratio);
    const height = width / ratio;
    pen.scale(scale, scale);
    pen.translate((clientWidth - width) / 2, (clientHeight - height) / 2);
    pen.font = `600 ${font}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    for (const { term, confidence, box } of detections) {
        const [x, y, w, h] = [box[0] * width, box[1] * height, box[2] * width, box[3] * height];
        // A dark line below the bright one is visible on any background.
        for (const [color, thickness] of [["#000", line + 2], ["#ffd60a", line]]) {
            pen.strokeStyle = color;
            pen.lineWidth = thickness;
            pen.strokeRect(x, y, w, h);
        }
        const text = `${term} ${percent(confidence)}`;
        const [labelWidth, labelHeight] = [pen.measureText(text).width + 10, font + 8];
        const left = Math.max(0, Math.min(x, width - labelWidth));
        const top = y >= labelHeight ? y - labelHeight : Math.min(y, height - labelHeight);
        pen.fillStyle = "#ffd60a";
        pen.fillRect(left, top, labelWidth, labelHeight);
        pen.fillStyle = "#000";
        pen.fillText(text, left + 5, top + labelHeight / 2);
    }
}
// list names the objects of a result in words, for people who do not see the boxes.
export function list(detections) {
    if (detections.length === 0)
        return "none";
    return detections.map((d) => `${d.term} (${percent(d.confidence)})`).join(", ");
}
