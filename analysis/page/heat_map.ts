// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Values of pairs as colours, on a canvas: 64 x 64 pairs are too many elements for a picture that
// follows the pointer.

import { html } from "./dom";
import type { Picture } from "./figure";
import { shown } from "./format";
import { number_in, text_in, type Cell, type Chart } from "./report";
import { style_rgb, style_value, type Rgb } from "./theme";

const k_label = 64; // pixels of the rows' names
const k_most_height = 34;
const k_axes = 22; // of what the rows and columns are
const k_scale_height = 46; // of the scale below
const k_least_width_of_text = 38;
const k_least_span = 0.05; // of the colours, so that equal links look equal

function between(low: Rgb, high: Rgb, share: number): Rgb {
  return low.map((one, i) => Math.round(one + (high[i]! - one) * share)) as Rgb;
}
function luminance([r, g, b]: Rgb): number {
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

// In the same order for rows and columns.
function distinct(chart: Chart, column: number | undefined): string[] {
  const words = new Intl.Collator("en", { numeric: true });
  return [...new Set(chart.rows.map((row) => text_in(row, column)))].sort(words.compare);
}

export function heat_map_of(chart: Chart): Picture {
  const column = chart.columns[chart.value!]!;
  const x_column = chart.columns[chart.x!]!;
  const y_column = chart.columns[chart.y!]!;
  const across = distinct(chart, chart.x);
  const down = distinct(chart, chart.y);
  const cells = new Map<string, Cell[]>();
  for (const row of chart.rows) cells.set(text_in(row, chart.y) + "\n" + text_in(row, chart.x), row);
  const values = chart.rows.map((row) => number_in(row, chart.value)).filter((value): value is number => value !== null);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const pale = Math.min(low, high - k_least_span * Math.abs(high)); // the value of the lightest colour
  let chosen = { x: -1, y: -1 };
  let size = { width: 0, cell: 0, tall: 0 };

  const element = html("canvas", {
    role: "img",
    tabindex: 0,
    "aria-label":
      `${chart.title}. ${down.length} rows, ${across.length} columns, from ${shown(low, column)} to ${shown(high, column)} ${column.title}. ` +
      "Arrow keys read a cell; the table under Data has all values.",
  });
  const tip = html("p", { class: "tip", role: "status" });

  const describe = (): string => {
    const row = cells.get(`${down[chosen.y]}\n${across[chosen.x]}`);
    if (!row) return "";
    const state = text_in(row, chart.state);
    return `${y_column.title} ${down[chosen.y]}, ${x_column.title} ${across[chosen.x]}: ${shown(row[chart.value!] ?? null, column)} ${column.title}${state === "" ? "" : ", " + state}`;
  };

  function redraw(): void {
    const { width, cell, tall } = size;
    if (width === 0) return;
    const height = k_axes + tall * (down.length + 1) + k_scale_height;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    const drawing = element.getContext("2d")!;
    drawing.scale(ratio, ratio);
    const [from, to] = [style_rgb("heat-low"), style_rgb("heat-high")];
    const ink = style_value("ink");
    drawing.fillStyle = style_value("card");
    drawing.fillRect(0, 0, width, height);
    drawing.font = "12px " + style_value("font");
    drawing.textBaseline = "middle";
    drawing.fillStyle = style_value("quiet");
    drawing.textAlign = "left";
    drawing.fillText(`${y_column.title} \u2193  ${x_column.title} \u2192`, 0, k_axes / 2);
    drawing.translate(0, k_axes);
    drawing.textAlign = "center";
    drawing.fillStyle = ink;
    const every = Math.max(1, Math.ceil(26 / cell));
    across.forEach((name, i) => i % every === 0 && drawing.fillText(name, k_label + (i + 0.5) * cell, tall / 2, cell * every));
    drawing.textAlign = "right";
    down.forEach((name, i) => drawing.fillText(name, k_label - 8, tall * (i + 1.5), k_label - 10));
    drawing.textAlign = "center";
    down.forEach((from_name, y) =>
      across.forEach((to_name, x) => {
        const row = cells.get(`${from_name}\n${to_name}`);
        const value = row ? number_in(row, chart.value) : null;
        const state = row ? text_in(row, chart.state) : "";
        const left = k_label + x * cell;
        const top = tall * (y + 1);
        if (value === null && state === "") return;
        const colour = value === null ? style_rgb("line") : between(from, to, high > pale ? (value - pale) / (high - pale) : 1);
        drawing.fillStyle = `rgb(${colour.join(",")})`;
        drawing.fillRect(left + 0.5, top + 0.5, cell - 1, tall - 1);
        if (cell >= k_least_width_of_text) {
          drawing.fillStyle = luminance(colour) > 0.5 ? "#111111" : "#ffffff";
          drawing.fillText(value === null ? state : shown(value, column) + (state === "" ? "" : " !"), left + cell / 2, top + tall / 2, cell - 4);
        } else if (state !== "") {
          drawing.fillStyle = style_value("worse");
          drawing.fillRect(left + cell - 5, top + 2, 3, 3);
        }
        if (state !== "" && cell >= k_least_width_of_text) {
          drawing.strokeStyle = style_value("worse");
          drawing.lineWidth = 2;
          drawing.strokeRect(left + 1.5, top + 1.5, cell - 3, tall - 3);
        }
        if (x === chosen.x && y === chosen.y) {
          drawing.strokeStyle = ink;
          drawing.lineWidth = 2;
          drawing.strokeRect(left + 1, top + 1, cell - 2, tall - 2);
        }
      }),
    );
    const scale_top = tall * (down.length + 1) + 12;
    const scale_width = Math.min(220, width - k_label - 20);
    for (let i = 0; i < scale_width; ++i) {
      drawing.fillStyle = `rgb(${between(from, to, i / scale_width).join(",")})`;
      drawing.fillRect(k_label + i, scale_top, 1, 8);
    }
    drawing.fillStyle = ink;
    drawing.textAlign = "left";
    drawing.fillText(shown(pale, column), k_label, scale_top + 20);
    drawing.textAlign = "right";
    drawing.fillText(`${shown(high, column)} ${column.title}`, k_label + scale_width, scale_top + 20);
    tip.textContent = describe();
  }

  const choose = (x: number, y: number) => {
    chosen = { x, y };
    redraw();
  };
  element.addEventListener("pointermove", (moved) => {
    const bounds = element.getBoundingClientRect();
    const x = Math.floor((moved.clientX - bounds.left - k_label) / size.cell);
    const y = Math.floor((moved.clientY - bounds.top - k_axes) / size.tall) - 1;
    if (x !== chosen.x || y !== chosen.y) choose(x, y);
  });
  element.addEventListener("pointerleave", () => choose(-1, -1));
  element.addEventListener("blur", () => choose(-1, -1));
  element.addEventListener("keydown", (pressed) => {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[pressed.key];
    if (!step) return;
    pressed.preventDefault();
    const within = (at: number, count: number) => Math.min(count - 1, Math.max(0, at));
    choose(within(chosen.x < 0 ? 0 : chosen.x + step[0]!, across.length), within(chosen.y < 0 ? 0 : chosen.y + step[1]!, down.length));
  });

  return {
    element,
    controls: [tip],
    draw(available) {
      const cell = Math.min(72, (available - k_label) / across.length);
      const tall = Math.max(12, Math.min(k_most_height, cell));
      size = { width: Math.max(k_label + cell * across.length, Math.min(available, 320)), cell, tall };
      redraw();
      element.style.width = `${size.width}px`;
    },
  };
}
