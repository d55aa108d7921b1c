// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Figures over sizes: a line for each series, its intervals, every process's value as a dot.

import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear, scaleLog, type Scale } from "d3-scale";
import { event, select } from "d3-selection";
import { line, symbol, symbols } from "d3-shape";
import { zoom, zoomIdentity, type ZoomTransform } from "d3-zoom";

import { button, html, svg } from "./dom";
import type { Picture } from "./figure";
import { shown } from "./format";
import { list_in, number_in, pair_in, text_in, type Chart } from "./report";

const k_height = 340;
const k_margin = { top: 12, right: 16, bottom: 44, left: 68 };
const k_most_series_at_first = 6;
const k_colours = 8; // of style.css
const k_dodge = 5; // pixels between series at one size
const k_least_span_of_log = 30;

interface Point {
  x: number;
  y: number;
  interval: [number, number] | null;
  points: number[];
}
interface Series {
  name: string;
  index: number;
  visible: boolean;
  points: Point[];
}

function series_of(chart: Chart): Series[] {
  const all: Series[] = [];
  for (const row of chart.rows) {
    const name = text_in(row, chart.series);
    const x = number_in(row, chart.x);
    const y = number_in(row, chart.y);
    if (x === null || y === null || x <= 0) continue;
    let one = all.find((other) => other.name === name);
    if (!one) {
      one = { name, index: all.length, visible: all.length < k_most_series_at_first, points: [] };
      all.push(one);
    }
    one.points.push({ x, y, interval: pair_in(row, chart.interval), points: list_in(row, chart.points) });
  }
  for (const one of all) one.points.sort((a, b) => a.x - b.x);
  return all;
}

function mark(index: number, area = 42): string {
  return symbol().type(symbols[index % symbols.length]!).size(area)();
}

function text_alternative(chart: Chart, series: Series[]): string {
  const x = chart.columns[chart.x!]!;
  const y = chart.columns[chart.y!]!;
  const parts = series.map((one) => {
    const first = one.points[0]!;
    const last = one.points[one.points.length - 1]!;
    return `${one.name}: ${shown(first.y, y)} at ${shown(first.x, x)}, ${shown(last.y, y)} at ${shown(last.x, x)}`;
  });
  return `${chart.title}. ${y.title} over ${x.title}. ${parts.slice(0, 12).join("; ")}. The table under Data has all values.`;
}

let curves = 0; // so that each has an area of its own to draw in

export function curve_of(chart: Chart): Picture {
  const id = `area-${++curves}`;
  const x_column = chart.columns[chart.x!]!;
  const y_column = chart.columns[chart.y!]!;
  const series = series_of(chart);
  const sizes = [...new Set(series.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b);
  const values = series.flatMap((one) => one.points.map((point) => point.y)).filter((value) => value > 0);
  const can_be_log = values.length > 0;
  let is_log = can_be_log && Math.max(...values) / Math.min(...values) > k_least_span_of_log && y_column.key.endsWith("_us");
  let transform: ZoomTransform = zoomIdentity;
  let chosen: number | null = null; // index of sizes
  let width = 0;

  const element = svg("svg", { role: "img", tabindex: 0, "aria-label": text_alternative(chart, series) });
  const tip = html("p", { class: "tip", role: "status" });
  const legend = html("div", { class: "legend", role: "group", "aria-label": "Lines" });
  const scale_button = button("", { class: "small" }, () => {
    is_log = !is_log;
    redraw();
  });
  const reset = button("Reset zoom", { class: "small" }, () => select(element).call(zooming.transform, zoomIdentity));

  for (const one of series) {
    const swatch = svg("svg", { viewBox: "-7 -7 14 14", class: `swatch s${one.index % k_colours}`, "aria-hidden": "true" });
    swatch.append(svg("path", { d: mark(one.index), class: "mark" }));
    const toggle = button(one.name, { "aria-pressed": one.visible }, () => {
      one.visible = !one.visible;
      toggle.setAttribute("aria-pressed", String(one.visible));
      redraw();
    });
    toggle.prepend(swatch);
    legend.append(toggle);
  }

  const zooming = zoom()
    .scaleExtent([1, 20])
    .filter(() => event.type !== "wheel" || event.ctrlKey === true || event.metaKey === true)
    .on("zoom", () => {
      transform = event.transform;
      redraw();
    });

  const scales = (): { x: Scale; y: Scale } => {
    const inner = width - k_margin.left - k_margin.right;
    const visible = series.filter((one) => one.visible);
    const lows: number[] = [];
    const highs: number[] = [];
    for (const point of (visible.length > 0 ? visible : series).flatMap((one) => one.points)) {
      const every = [point.y, ...point.points, ...(point.interval ?? [])];
      highs.push(Math.max(...every));
      const above = every.filter((value) => value > 0);
      if (above.length > 0) lows.push(Math.min(...above));
    }
    for (const reference of chart.lines) highs.push(reference.at);
    const high = Math.max(...highs, 1e-9);
    const low = Math.min(...lows, high);
    const first = sizes[0] ?? 1;
    const last = sizes[sizes.length - 1] ?? 2;
    const x = scaleLog().base(2).domain(first === last ? [first / 2, first * 2] : [first, last]);
    x.range([k_margin.left + 14, k_margin.left + inner - 14]);
    const range = [k_height - k_margin.bottom, k_margin.top];
    const y = is_log
      ? scaleLog().domain([low * 0.8, high * 1.2]).range(range)
      : scaleLinear().domain([0, high * 1.05]).nice().range(range);
    return { x: transform.rescaleX(x), y };
  };

  const size_ticks = (x: Scale): number[] => {
    const [from, to] = x.domain() as [number, number];
    const inside = sizes.filter((size) => size >= from * 0.999 && size <= to * 1.001);
    const most = Math.max(2, Math.floor((width - k_margin.left) / 52));
    const step = Math.ceil(inside.length / most);
    return inside.filter((_, i) => i % step === 0);
  };

  const axes = (x: Scale, y: Scale): Node[] => {
    const bottom = svg("g", { class: "axis", transform: `translate(0,${k_height - k_margin.bottom})` });
    const left = svg("g", { class: "axis grid", transform: `translate(${k_margin.left},0)` });
    select(bottom).call(
      axisBottom(x)
        .tickValues(size_ticks(x))
        .tickFormat((value) => shown(value, x_column))
        .tickSizeOuter(0),
    );
    const ticks = is_log ? y.ticks(6).filter((value) => /^[125]0*$|^0\.0*[125]$/.test(String(value))) : y.ticks(6);
    select(left).call(
      axisLeft(y)
        .tickValues(ticks)
        .tickFormat((value) => shown(value, y_column))
        .tickSize(-(width - k_margin.left - k_margin.right))
        .tickPadding(8),
    );
    return [
      left,
      bottom,
      svg("text", { class: "title", x: (k_margin.left + width - k_margin.right) / 2, y: k_height - 8, "text-anchor": "middle" }, x_column.title),
      svg("text", { class: "title", transform: `translate(13,${(k_height - k_margin.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, y_column.title),
    ];
  };

  const drawn_series = (one: Series, shift: number, x: Scale, y: Scale): SVGGElement => {
    const at = (point: Point) => x(point.x);
    const beside = (point: Point) => (at(point) + shift).toFixed(1);
    const dots = one.points.flatMap((point) => point.points.map((value) => `M${beside(point)} ${y(value).toFixed(1)}h0`));
    const intervals = one.points.flatMap((point) => {
      if (!point.interval) return [];
      const [low, high] = point.interval;
      return [`M${beside(point)} ${y(low).toFixed(1)}V${y(high).toFixed(1)}`];
    });
    return svg(
      "g",
      { class: `series s${one.index % k_colours}` },
      svg("path", { class: "dots", d: dots.join("") }),
      svg("path", { class: "line", d: line<Point>().x(at).y((point) => y(point.y))(one.points) ?? "", "stroke-dasharray": one.index >= k_colours ? "5 3" : null }),
      svg("path", { class: "interval", d: intervals.join("") }),
      ...one.points.map((point) =>
        svg("path", { class: "mark", d: mark(one.index), transform: `translate(${at(point).toFixed(1)},${y(point.y).toFixed(1)})` }),
      ),
    );
  };

  const describe = (index: number): string => {
    const size = sizes[index]!;
    const parts = series
      .filter((one) => one.visible)
      .flatMap((one) => {
        const point = one.points.find((other) => other.x === size);
        if (!point) return [];
        const interval = point.interval ? ` [${shown(point.interval[0], y_column)}, ${shown(point.interval[1], y_column)}]` : "";
        return [`${one.name} ${shown(point.y, y_column)}${interval}`];
      });
    return `${shown(size, x_column)}: ${parts.join("; ")}`;
  };

  function redraw(): void {
    if (width === 0) return;
    const { x, y } = scales();
    element.setAttribute("viewBox", `0 0 ${width} ${k_height}`);
    const visible = series.filter((one) => one.visible);
    const clip = svg(
      "clipPath",
      { id },
      svg("rect", { x: k_margin.left, y: 0, width: width - k_margin.left - k_margin.right, height: k_height - k_margin.bottom }),
    );
    const lines = chart.lines.map((reference) =>
      svg(
        "g",
        { class: "reference" },
        svg("path", { d: `M${k_margin.left} ${y(reference.at)}H${width - k_margin.right}` }),
        svg("text", { x: width - k_margin.right - 4, y: y(reference.at) - 5, "text-anchor": "end" }, `${reference.name}: ${shown(reference.at, y_column)}`),
      ),
    );
    const guide =
      chosen === null
        ? null
        : svg("path", { class: "guide", d: `M${x(sizes[chosen]!)} ${k_margin.top}V${k_height - k_margin.bottom}` });
    const plot = svg(
      "g",
      { "clip-path": `url(#${id})` },
      guide,
      ...lines,
      ...visible.map((one, i) => drawn_series(one, (i - (visible.length - 1) / 2) * k_dodge, x, y)).reverse(), // the first on top
    );
    element.replaceChildren(clip, ...axes(x, y), plot);
    tip.textContent = chosen === null ? "" : describe(chosen);
    scale_button.textContent = is_log ? "Linear scale" : "Logarithmic scale";
    scale_button.hidden = !can_be_log;
    reset.hidden = transform.k === 1;
  }

  const choose = (index: number | null) => {
    if (index === chosen) return;
    chosen = index;
    redraw();
  };
  element.addEventListener("pointermove", (moved) => {
    const bounds = element.getBoundingClientRect();
    const at = ((moved.clientX - bounds.left) / bounds.width) * width;
    const { x } = scales();
    let nearest = 0;
    sizes.forEach((size, i) => {
      if (Math.abs(x(size) - at) < Math.abs(x(sizes[nearest]!) - at)) nearest = i;
    });
    choose(sizes.length > 0 ? nearest : null);
  });
  element.addEventListener("pointerleave", () => choose(null));
  element.addEventListener("blur", () => choose(null));
  element.addEventListener("keydown", (pressed) => {
    const step = pressed.key === "ArrowRight" ? 1 : pressed.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    pressed.preventDefault();
    choose(Math.min(sizes.length - 1, Math.max(0, (chosen ?? (step > 0 ? -1 : sizes.length)) + step)));
  });
  select(element).call(zooming);

  return {
    element,
    controls: [legend, html("div", { class: "controls" }, scale_button, reset, tip)],
    draw(new_width) {
      width = new_width;
      zooming.extent([[k_margin.left, 0], [width - k_margin.right, k_height]]);
      zooming.translateExtent([[k_margin.left, 0], [width - k_margin.right, k_height]]);
      redraw();
    },
  };
}
