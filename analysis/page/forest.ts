// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Ratios with their intervals, a row each, around 1: a forest plot.

import { axisBottom } from "d3-axis";
import { scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { symbol, symbolCircle, symbolDiamond, symbolSquare, type SymbolType } from "d3-shape";

import { button, html, svg } from "./dom";
import type { Picture } from "./figure";
import { shown } from "./format";
import { number_in, pair_in, text_in, type Cell, type Chart } from "./report";

const k_row = 22;
const k_two_lines = 36; // of a row on a phone, where the numbers stand below
const k_margin = { top: 8, bottom: 44 };
const k_character = 6.6; // pixels, at most
const k_bold_character = 7.6;
const k_rows_at_first = 40;
const k_widest_ratio = 4; // beyond it an interval ends in an arrow
const k_symbols: Record<string, SymbolType> = {
  better: symbolDiamond,
  faster: symbolDiamond,
  worse: symbolSquare,
  slower: symbolSquare,
};

interface Line {
  group: string | null; // a heading
  row: Cell[] | null;
}

// The rows under the name of their series.
function lines_of(chart: Chart): Line[] {
  const lines: Line[] = [];
  let last: string | null = null;
  for (const row of chart.rows) {
    const group = text_in(row, chart.series);
    if (group !== last) lines.push({ group, row: null });
    last = group;
    lines.push({ group: null, row });
  }
  return lines;
}

// The name of a group in as many lines as it needs.
function wrapped(lines: Line[], width: number): Line[] {
  const most = Math.max(8, Math.floor(width / k_bold_character));
  return lines.flatMap((line) => {
    if (line.group === null) return [line];
    const parts: string[] = [];
    for (const word of line.group.split(" "))
      for (let at = 0; at < word.length || at === 0; at += most) {
        const piece = word.slice(at, at + most);
        const last = parts.length - 1;
        if (at === 0 && last >= 0 && parts[last]!.length + 1 + piece.length <= most) parts[last] += " " + piece;
        else parts.push(piece);
      }
    return parts.map((group) => ({ group, row: null }));
  });
}

function words(state: string): string {
  return state.replace(/_/g, " ");
}

export function forest_of(chart: Chart): Picture {
  const x_column = chart.columns[chart.x!]!;
  const y_column = chart.columns[chart.y!]!;
  const all = lines_of(chart);
  const states = [...new Set(chart.rows.map((row) => text_in(row, chart.state)))].filter((state) => state !== "");
  const longest_name = Math.max(...chart.rows.map((row) => shown(row[chart.y!] ?? null, y_column).length), 0);
  let is_whole = all.length <= k_rows_at_first;
  let width = 0;

  const counts = states.map((state) => `${chart.rows.filter((row) => text_in(row, chart.state) === state).length} ${words(state)}`);
  const element = svg("svg", {
    role: "img",
    "aria-label": `${chart.title}. ${chart.rows.length} rows: ${counts.join(", ")}. The table under Data has all values.`,
  });
  const legend = html(
    "div",
    { class: "legend" },
    ...states.map((state) => {
      const swatch = svg("svg", { viewBox: "-7 -7 14 14", class: `swatch state ${state}`, "aria-hidden": "true" });
      swatch.append(svg("path", { class: "mark", d: symbol().type(k_symbols[state] ?? symbolCircle).size(60)() }));
      return html("span", { class: "key" }, swatch, words(state));
    }),
  );
  const show_all = button(`Show all ${chart.rows.length} rows`, { class: "more" }, () => {
    is_whole = true;
    redraw();
  });
  window.addEventListener("beforeprint", () => {
    is_whole = true;
    redraw();
  });

  const limits = (): [number, number] => {
    let far = 1.005;
    for (const row of chart.rows) {
      const ratio = number_in(row, chart.x) ?? 1;
      for (const value of [ratio, ...(pair_in(row, chart.interval) ?? [])])
        if (value > 0) far = Math.max(far, value, 1 / value);
    }
    far = Math.min(far, k_widest_ratio) ** 1.08;
    return [1 / far, far];
  };

  function redraw(): void {
    if (width === 0) return;
    const lines = wrapped(is_whole ? all : all.slice(0, k_rows_at_first), width);
    const is_narrow = width < 560;
    const tall = (line: Line) => (is_narrow && line.row ? k_two_lines : k_row);
    const left = Math.max(is_narrow ? 70 : 110, Math.min(width / 3, 24 + k_character * longest_name));
    const right = is_narrow ? 12 : 190;
    const height = k_margin.top + lines.reduce((sum, line) => sum + tall(line), 0) + k_margin.bottom;
    const [from, to] = limits();
    const x = scaleLog().domain([from, to]).range([left, width - right]);
    const clamped = (value: number) => x(Math.min(to, Math.max(from, value)));
    const bottom = svg("g", { class: "axis", transform: `translate(0,${height - k_margin.bottom})` });
    const reach = to - 1;
    const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2].find((one) => reach / one <= (is_narrow ? 2.5 : 4)) ?? 1;
    const above = Array.from({ length: Math.floor(reach / step) }, (_, i) => 1 + (i + 1) * step);
    select(bottom).call(
      axisBottom(x)
        .tickValues([...above.map((one) => 1 / one).reverse(), 1, ...above])
        .tickFormat((value) => value.toFixed(step < 0.01 ? 3 : 2) + "x")
        .tickSizeOuter(0),
    );
    let below = k_margin.top;
    const drawn = lines.map((line) => {
      const { group, row } = line;
      const top = below;
      const y = top + k_row / 2;
      below += tall(line);
      if (row === null) return svg("text", { class: "group", x: 0, y: y + 4 }, group ?? "");
      const state = text_in(row, chart.state);
      const ratio = number_in(row, chart.x) ?? 1;
      const interval = pair_in(row, chart.interval);
      const band = pair_in(row, chart.band);
      const numbers = shown(ratio, x_column) + (interval ? `  ${interval.map((end) => end.toFixed(3)).join(" to ")}` : "");
      return svg(
        "g",
        { class: `state ${state}` },
        svg("title", {}, `${text_in(row, chart.series)} ${shown(row[chart.y!] ?? null, y_column)}: ${numbers}, ${words(state)}`),
        svg("rect", { class: "hit", x: 0, y: top, width, height: tall(line) }),
        band ? svg("rect", { class: "band", x: clamped(band[0]), y: top, width: Math.max(0, clamped(band[1]) - clamped(band[0])), height: k_row }) : null,
        svg("text", { class: "name", x: left - 12, y: y + 4, "text-anchor": "end" }, shown(row[chart.y!] ?? null, y_column)),
        interval
          ? svg("path", {
              class: "interval",
              d:
                `M${clamped(interval[0])} ${y}H${clamped(interval[1])}` +
                (interval[0] < from ? `m0 0M${x(from) + 5} ${y - 4}l-5 4l5 4` : "") +
                (interval[1] > to ? `M${x(to) - 5} ${y - 4}l5 4l-5 4` : ""),
            })
          : null,
        svg("path", { class: "mark", d: symbol().type(k_symbols[state] ?? symbolCircle).size(52)(), transform: `translate(${clamped(ratio)},${y})` }),
        svg("text", { class: "numbers", x: width, y: is_narrow ? y + 20 : y + 4, "text-anchor": "end" }, numbers),
      );
    });
    element.setAttribute("viewBox", `0 0 ${width} ${height}`);
    element.replaceChildren(
      bottom,
      ...chart.lines.map((one) => svg("path", { class: "one", d: `M${clamped(one.at)} ${k_margin.top}V${height - k_margin.bottom}` })),
      ...drawn,
      svg("text", { class: "title", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, x_column.title),
    );
    show_all.hidden = is_whole;
  }

  return {
    element,
    controls: [legend, show_all],
    draw(new_width) {
      width = new_width;
      redraw();
    },
  };
}
