// Draws the boxes of a result over the picture.

import type { Detection } from "./messages.js";
import { percent } from "./words.js";

// Sizes in CSS pixels.
const line = 3;
const font = 14;

// draw replaces the boxes on the canvas, which covers the picture.
export function draw(canvas: HTMLCanvasElement, detections: Detection[]): void {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(scale, scale);
  pen.font = `600 ${font}px system-ui, sans-serif`;
  pen.textBaseline = "middle";
  for (const { term, confidence, box } of detections) {
    const [x, y, w, h] = [box[0] * width, box[1] * height, box[2] * width, box[3] * height];
    // A dark line below the bright one is visible on any background.
    for (const [color, thickness] of [["#000", line + 2], ["#ffd60a", line]] as const) {
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
export function list(detections: Detection[]): string {
  if (detections.length === 0) return "none";
  return detections.map((d) => `${d.term} (${percent(d.confidence)})`).join(", ");
}
