// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What ran when on all ranks: millions of events on a canvas. A pixel shows how much of its time
// each kind of work took, from running sums, so what is drawn is exact at every zoom and a frame
// costs as much as the canvas is wide (event_pixels.ts).

import { button, html } from "./dom";
import { index_before, lane_of, type Lane } from "./event_lanes";
import { LanePixels } from "./event_pixels";
import { save } from "./figure";
import { short_number } from "./format";
import type { Timeline } from "./report";
import { on_theme, style_rgb, style_value } from "./theme";

const k_lane = 22; // pixels
const k_gap = 4;
const k_names = 128; // pixels of the lanes' names
const k_axis = 26;
const k_least_ns = 200; // the closest zoom
const k_most_rectangles = 2; // events a pixel column, beyond which sums are drawn
const k_least_width_of_text = 46;
const k_most_readable_steps = 2000;

function time_text(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${short_number(ns / 1e9)} s`;
  if (size >= 1e6) return `${short_number(ns / 1e6)} ms`;
  if (size >= 1e3) return `${short_number(ns / 1e3)} us`;
  return `${short_number(ns)} ns`;
}

export function timeline_of(timeline: Timeline, id: string): HTMLElement {
  const status = html("p", { class: "tip", role: "status" }, "unpacking");
  const canvas = html("canvas", {
    role: "img",
    tabindex: 0,
    "aria-label":
      `${timeline.title}. ${timeline.lanes.length} lanes, ${timeline.events} events, ${time_text(timeline.span_ns)}. ` +
      "Arrow keys move, plus and minus zoom, 0 shows all.",
  });
  let lanes: Lane[] = [];
  let view = { from: 0, until: Math.max(1, timeline.span_ns) };
  let width = 0;
  let pixels: LanePixels | null = null; // until the colours change
  let pending = false;
  const frames: number[] = []; // ms that the last ones took, for tests

  const height = () => k_axis + lanes.length * (k_lane + k_gap);
  const x_of = (at: number) => k_names + ((at - view.from) / (view.until - view.from)) * (width - k_names);
  const time_of = (x: number) => view.from + ((x - k_names) / (width - k_names)) * (view.until - view.from);

  // The names of events that are wide enough.
  const write_names = (drawing: CanvasRenderingContext2D, lane: Lane, top: number, [first, last]: [number, number]) => {
    drawing.fillStyle = style_value("inside");
    for (let i = first; i <= last; ++i) {
      if (lane.end[i]! - lane.start[i]! < least_named_ns()) continue;
      const left = Math.max(k_names, x_of(lane.start[i]!));
      const right = Math.min(width, x_of(lane.end[i]!));
      if (right - left < k_least_width_of_text) continue;
      const [name] = timeline.names[lane.id[i]!]!;
      const letters = Math.floor((right - left - 8) / 6.4);
      drawing.fillText(name.length > letters ? name.slice(0, letters - 1) + "\u2026" : name, left + 4, top + k_lane / 2, right - left - 6);
    }
  };
  const least_named_ns = () => (k_least_width_of_text * (view.until - view.from)) / (width - k_names);

  // The events in view; null if the page has only sums there.
  const events_in_view = (lane: Lane): [number, number] | null => {
    const first = Math.max(0, index_before(lane.start, view.from));
    const last = index_before(lane.start, view.until);
    const is_reduced = timeline.note !== "";
    if (is_reduced && (last < 0 || lane.start[first]! > view.from || (lane.end[last] ?? 0) < view.until)) return null;
    return [first, last];
  };

  const draw_axis = (drawing: CanvasRenderingContext2D) => {
    const span = view.until - view.from;
    const about = span / Math.max(2, (width - k_names) / 120);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = power * ([1, 2, 5, 10].find((one) => one * power >= about) ?? 10);
    // Far from the begin, ticks differ in digits that nobody reads: they count from a round time.
    const origin = view.from / step > k_most_readable_steps ? Math.floor(view.from / (1000 * step)) * 1000 * step : 0;
    drawing.fillStyle = style_value("quiet");
    if (origin > 0) drawing.fillText(`${origin / 1e9} s +`, 0, 10, k_names - 8);
    drawing.textAlign = "center";
    for (let at = Math.ceil(view.from / step) * step; at <= view.until; at += step) {
      const x = x_of(at);
      drawing.fillRect(x, k_axis - 6, 1, 4);
      drawing.fillText(time_text(Math.round((at - origin) / step) * step), Math.min(width - 24, Math.max(k_names + 20, x)), 10);
    }
    drawing.textAlign = "left";
  };

  function redraw(): void {
    pending = false;
    if (width === 0 || lanes.length === 0) return;
    const began = performance.now();
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * ratio), Math.round(height() * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    const drawing = canvas.getContext("2d")!;
    pixels ??= new LanePixels(timeline.names.map(([, kind]) => kind), style_rgb("soft"), timeline.kinds.map((_, kind) => style_rgb(`s${kind}`)));
    const left = Math.round(k_names * ratio);
    drawing.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawing.fillStyle = style_value("card");
    drawing.fillRect(0, 0, width, height());
    drawing.font = "12px " + style_value("font");
    drawing.textBaseline = "middle";
    draw_axis(drawing);
    const ink = style_value("ink");
    lanes.forEach((lane, i) => {
      const top = k_axis + i * (k_lane + k_gap);
      const events = events_in_view(lane);
      const is_sparse = events && events[1] - events[0] < k_most_rectangles * (width - k_names);
      const image = pixels!.resized(wide - left, Math.round(k_lane * ratio), ratio);
      if (is_sparse) image.draw_events(lane, events, view);
      else image.draw_sums(lane, view);
      image.put(drawing, left, Math.round(top * ratio));
      if (is_sparse) write_names(drawing, lane, top, events);
      drawing.fillStyle = ink;
      drawing.fillText(lane.name, 0, top + k_lane / 2, k_names - 8);
    });
    frames.push(performance.now() - began);
    if (frames.length > 200) frames.shift();
    canvas.dataset.frames = frames.slice(-60).map((ms) => ms.toFixed(1)).join(" ");
    canvas.dataset.from = String(Math.round(view.from));
    canvas.dataset.until = String(Math.round(view.until));
  }
  const later = () => {
    if (!pending) requestAnimationFrame(redraw);
    pending = true;
  };

  const show = (from: number, until: number) => {
    const whole = Math.max(1, timeline.span_ns);
    const span = Math.min(whole, Math.max(k_least_ns, until - from));
    const begin = Math.min(whole - span, Math.max(0, from));
    view = { from: begin, until: begin + span };
    status.textContent = `${time_text(view.until - view.from)} from ${time_text(view.from)} on`;
    later();
  };
  const zoom_by = (factor: number, at: number) => show(at - (at - view.from) * factor, at + (view.until - at) * factor);
  const move_by = (share: number) => {
    const shift = (view.until - view.from) * share;
    show(view.from + shift, view.until + shift);
  };
  const middle = () => (view.from + view.until) / 2;

  canvas.addEventListener("keydown", (pressed) => {
    const action = {
      ArrowLeft: () => move_by(-0.2),
      ArrowRight: () => move_by(0.2),
      "+": () => zoom_by(0.5, middle()),
      "=": () => zoom_by(0.5, middle()),
      "-": () => zoom_by(2, middle()),
      "0": () => show(0, timeline.span_ns),
    }[pressed.key];
    if (!action) return;
    pressed.preventDefault();
    action();
  });
  canvas.addEventListener(
    "wheel",
    (turned) => {
      if (!turned.ctrlKey && !turned.metaKey && Math.abs(turned.deltaY) > Math.abs(turned.deltaX)) return; // the page scrolls
      turned.preventDefault();
      if (turned.ctrlKey || turned.metaKey) zoom_by(Math.exp(turned.deltaY / 300), time_of(turned.offsetX));
      else move_by(turned.deltaX / width);
    },
    { passive: false },
  );
  let held: { x: number; from: number; until: number } | null = null;
  canvas.addEventListener("pointerdown", (pressed) => {
    held = { x: pressed.offsetX, ...view };
    canvas.setPointerCapture(pressed.pointerId);
  });
  canvas.addEventListener("pointerup", () => (held = null));
  canvas.addEventListener("dblclick", (pressed) => zoom_by(0.25, time_of(pressed.offsetX)));
  canvas.addEventListener("pointermove", (moved) => {
    if (held) {
      const shift = ((held.x - moved.offsetX) / (width - k_names)) * (held.until - held.from);
      return show(held.from + shift, held.until + shift);
    }
    const lane = lanes[Math.floor((moved.offsetY - k_axis) / (k_lane + k_gap))];
    if (!lane || moved.offsetX < k_names) return;
    const at = time_of(moved.offsetX);
    const i = index_before(lane.start, at);
    if (i < 0 || lane.end[i]! < at) status.textContent = `${lane.name}, ${time_text(at)}`;
    else {
      const [name, kind] = timeline.names[lane.id[i]!]!;
      status.textContent = `${lane.name}: ${name} (${timeline.kinds[kind]}), begins at ${time_text(lane.start[i]!)}, takes ${time_text(lane.end[i]! - lane.start[i]!)}`;
    }
  });

  const csv = (): string => {
    const lines = ["lane,name,kind,start_ns,duration_ns\r\n"];
    const field = (text: string) => `"${text.replace(/"/g, '""')}"`;
    for (const lane of lanes)
      for (let i = 0; i < lane.start.length; ++i) {
        if (lane.end[i]! < view.from || lane.start[i]! > view.until) continue;
        const [name, kind] = timeline.names[lane.id[i]!]!;
        lines.push(`${field(lane.name)},${field(name)},${timeline.kinds[kind]},${lane.start[i]},${lane.end[i]! - lane.start[i]!}\r\n`);
      }
    return lines.join("");
  };

  const legend = html(
    "div",
    { class: "legend" },
    ...timeline.kinds.map((kind, i) => html("span", { class: `key kind s${i}` }, kind)),
  );
  const frame = html("div", { class: "picture" }, canvas);
  const made = html(
    "figure",
    { id, class: "timeline" },
    html("figcaption", {}, html("a", { href: `#${id}`, class: "anchor" }, timeline.title)),
    timeline.note === "" ? null : html("p", { class: "quiet" }, timeline.note),
    legend,
    html(
      "div",
      { class: "controls" },
      button("Zoom in", { class: "small" }, () => zoom_by(0.5, middle())),
      button("Zoom out", { class: "small" }, () => zoom_by(2, middle())),
      button("Show all", { class: "small" }, () => show(0, timeline.span_ns)),
      status,
    ),
    frame,
    html(
      "div",
      { class: "below" },
      html("p", { class: "quiet" }, "Drag to move. Ctrl and the wheel, or a double click, zoom."),
      html(
        "div",
        { class: "tools" },
        button("CSV", { "aria-label": "Save the events in view" }, () => save(`${id}.csv`, new Blob([csv()], { type: "text/csv" }))),
        button("PNG", { "aria-label": `Save as PNG: ${timeline.title}` }, () => canvas.toBlob((blob) => blob && save(`${id}.png`, blob))),
      ),
    ),
  );
  new ResizeObserver(() => {
    width = frame.clientWidth;
    pixels = null; // paper has other colours
    canvas.style.width = `${width}px`;
    redraw();
  }).observe(frame);
  on_theme(() => {
    pixels = null;
    later();
  });

  const load = async () => {
    for (const packed of timeline.lanes) {
      lanes.push(await lane_of(packed, timeline));
      later(); // what is unpacked shows at once
    }
    canvas.dataset.ready = "yes";
    show(0, timeline.span_ns);
  };
  load().catch(() => (status.textContent = "The events could not be unpacked: the browser is too old, or the file is damaged."));
  return made;
}
