/**
 * Pictures without compression (netpbm, PPM): a local program saves encoding and decoding.
 */
import { MAX_SIDE } from './jpeg.js';

/**
 * @param {Uint8Array} bytes
 * @returns {import('./image.js').Image | null} with the data of the file; null for another format
 * @throws {Error} for a damaged file
 */
export function readPpm(bytes) {
  if (bytes[0] !== 0x50 || bytes[1] !== 0x36) return null;
  const header = /^P6\s(\d{1,4})\s(\d{1,4})\s255\s/.exec(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(20, bytes.length)).toString('latin1'));
  const [width, height] = header ? [Number(header[1]), Number(header[2])] : [0, 0];
  if (!(width > 0 && height > 0 && width <= MAX_SIDE && height <= MAX_SIDE)) throw new Error(`damaged PPM image: sides must be 1 to ${MAX_SIDE}`);
  const data = bytes.subarray(header[0].length);
  if (data.length !== width * height * 3) throw new Error(`damaged PPM image: ${data.length} bytes for ${width}x${height} pixels`);
  return { width, height, data };
}
