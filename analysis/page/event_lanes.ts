// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The lanes of a timeline: events and running sums, unpacked (html_events.cpp packs them).

import type { EventLane, Timeline } from "./report";

// TypeScript 4.8 does not know it.
declare class DecompressionStream {
  constructor(format: "deflate");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

export interface Lane {
  name: string;
  start: Float64Array; // ns, of events
  end: Float64Array;
  id: Uint32Array;
  // Sums up to each edge, by kind. Between edges they grow evenly.
  edges: Float64Array;
  busy: Float64Array[];
}

async function unpacked(text: string): Promise<Uint32Array> {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const values = new Uint32Array(count);
  for (let i = 0; i < count; ++i)
    values[i] = planes[i]! | (planes[count + i]! << 8) | (planes[2 * count + i]! << 16) | (planes[3 * count + i]! << 24);
  return values;
}

// Differences to times.
function running(differences: Uint32Array, tick: number): Float64Array {
  const times = new Float64Array(differences.length);
  let at = 0;
  for (let i = 0; i < times.length; ++i) times[i] = at += differences[i]! * tick;
  return times;
}

function sums_of_events(lane: Lane, kinds: number, kind_of: number[]): void {
  const count = lane.start.length;
  lane.edges = new Float64Array(2 * count);
  const used = new Set<number>();
  for (let i = 0; i < count; ++i) used.add(kind_of[lane.id[i]!]!);
  lane.busy = Array.from({ length: kinds }, (_, kind) => (used.has(kind) ? new Float64Array(2 * count) : new Float64Array(0)));
  for (let i = 0; i < count; ++i) {
    const begin = i === 0 ? lane.start[0]! : Math.max(lane.start[i]!, lane.edges[2 * i - 1]!);
    const end = Math.max(begin, lane.end[i]!);
    lane.edges[2 * i] = begin;
    lane.edges[2 * i + 1] = end;
    const kind = kind_of[lane.id[i]!]!;
    for (const one of used) {
      const sums = lane.busy[one]!;
      const before = i === 0 ? 0 : sums[2 * i - 1]!;
      sums[2 * i] = before;
      sums[2 * i + 1] = before + (one === kind ? end - begin : 0);
    }
  }
}

export async function lane_of(packed: EventLane, timeline: Timeline): Promise<Lane> {
  const tick = timeline.tick_ns;
  const start = running(await unpacked(packed.start), tick);
  const length = await unpacked(packed.length);
  const lane: Lane = {
    name: packed.name,
    start,
    end: start.map((begin, i) => begin + length[i]! * tick),
    id: await unpacked(packed.id),
    edges: new Float64Array(0),
    busy: [],
  };
  if (!packed.sums) {
    sums_of_events(lane, timeline.kinds.length, timeline.names.map(([, kind]) => kind));
    return lane;
  }
  const begin = running(await unpacked(packed.sums.begin), tick);
  const lengths = await unpacked(packed.sums.length);
  const count = begin.length;
  lane.edges = new Float64Array(count + 1);
  lane.edges.set(begin);
  lane.edges[count] = begin[count - 1]! + lengths[count - 1]! * tick;
  for (const column of packed.sums.busy) {
    const sums = new Float64Array(count + 1);
    sums.set(running(await unpacked(column), tick), 1);
    lane.busy.push(sums);
  }
  return lane;
}

// The last index whose value is not above `at`; -1: none. `from`: an index that is not above it, near
// which the search begins.
export function index_before(values: Float64Array, at: number, from = -1): number {
  let low = from + 1;
  let step = 1;
  while (from >= 0 && low + step < values.length && values[low + step]! <= at) step *= 2;
  let high = from >= 0 ? Math.min(values.length, low + step + 1) : values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The sums at a time, given the edge before it.
export function sum_at(lane: Lane, sums: Float64Array, edge: number, at: number): number {
  if (edge < 0) return 0;
  const last = sums.length - 1;
  if (edge >= last) return sums[last]!;
  const [from, to] = [lane.edges[edge]!, lane.edges[edge + 1]!];
  return to > from ? sums[edge]! + ((sums[edge + 1]! - sums[edge]!) * (at - from)) / (to - from) : sums[edge]!;
}
