// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The picture of one lane, made pixel by pixel: thousands of rectangles a frame are slower, because
// the canvas takes each with its colour as text.

import { index_before, sum_at, type Lane } from "./event_lanes";
import type { Rgb } from "./theme";

interface View {
  from: number; // ns
  until: number;
}

// Of a pixel as ImageData has it, on a little-endian machine, as every one with a browser is.
function packed([r, g, b]: Rgb): number {
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

export class LanePixels {
  private image = new ImageData(1, 1);
  private pixels = new Uint32Array(this.image.data.buffer);
  private readonly back: number;
  private readonly colours: number[]; // by kind
  private gap = 1; // pixels between events

  // `kind_of`: by the events' names.
  constructor(private readonly kind_of: number[], back: Rgb, colours: Rgb[]) {
    this.back = packed(back);
    this.colours = colours.map(packed);
  }

  // Of so many device pixels, `ratio` of them beside each other being one of the page.
  resized(width: number, height: number, ratio: number): this {
    this.gap = Math.max(1, Math.round(ratio / 2));
    if (this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    return this;
  }

  // Each event of [first, last] is a bar, at least one pixel wide.
  draw_events(lane: Lane, [first, last]: [number, number], view: View): void {
    const { width, height } = this.image;
    const row = this.pixels.subarray(0, width);
    const scale = width / (view.until - view.from);
    row.fill(this.back);
    for (let i = first; i <= last; ++i) {
      const left = Math.max(0, Math.round((lane.start[i]! - view.from) * scale));
      const right = Math.min(width, Math.round((lane.end[i]! - view.from) * scale));
      if (right < left || left >= width) continue;
      const wide = right - left;
      row.fill(this.colours[this.kind_of[lane.id[i]!]!]!, left, Math.max(left + 1, wide > 2 * this.gap + 1 ? right - this.gap : right));
    }
    for (let y = 1; y < height; ++y) this.pixels.copyWithin(y * width, 0, width);
  }

  // Each pixel column shows what share of its time each kind took, the first kind at the bottom.
  draw_sums(lane: Lane, view: View): void {
    const { width, height } = this.image;
    const { pixels, colours, back } = this;
    const step = (view.until - view.from) / width;
    const kinds = lane.busy.map((sums, kind) => ({ sums, colour: colours[kind]!, before: 0 })).filter(({ sums }) => sums.length > 0);
    let edge = index_before(lane.edges, view.from);
    for (const kind of kinds) kind.before = sum_at(lane, kind.sums, edge, view.from);
    pixels.fill(back);
    for (let column = 0; column < width; ++column) {
      const until = view.from + (column + 1) * step;
      edge = index_before(lane.edges, until, edge);
      let filled = 0; // of the height, from the bottom
      let y = height - 1;
      for (const kind of kinds) {
        const now = sum_at(lane, kind.sums, edge, until);
        filled += Math.min(1, (now - kind.before) / step) * height;
        kind.before = now;
        for (const top = height - Math.round(Math.min(height, filled)); y >= top; --y) pixels[y * width + column] = kind.colour;
      }
    }
  }

  put(drawing: CanvasRenderingContext2D, left: number, top: number): void {
    drawing.putImageData(this.image, left, top);
  }
}
