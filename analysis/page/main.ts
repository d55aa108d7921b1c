// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Makes the page of a report from its data. The bundle contains D3, and so the page its licence.

/*!
D3 (https://d3js.org): Copyright 2010-2017 Mike Bostock. All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted
provided that the following conditions are met:
1. Redistributions of source code must retain the above copyright notice, this list of conditions
   and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions
   and the following disclaimer in the documentation and/or other materials provided with the
   distribution.
3. Neither the name of the author nor the names of contributors may be used to endorse or promote
   products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED
WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A
PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR
ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT
LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS
INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR
TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF
ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
*/

import { bars_of } from "./bars";
import { blocks_of } from "./blocks";
import { boxes_of } from "./boxes";
import { curve_of } from "./curve";
import { html } from "./dom";
import { figure_of, type Picture } from "./figure";
import { forest_of } from "./forest";
import { heat_map_of } from "./heat_map";
import type { Chart, Part, Report, Section } from "./report";
import { spans_of } from "./spans";
import { theme_button } from "./theme";
import { timeline_of } from "./timeline";

const k_pictures: Record<Chart["kind"], (chart: Chart) => Picture> = {
  curve: curve_of,
  forest: forest_of,
  heat_map: heat_map_of,
  bars: bars_of,
  spans: spans_of,
  boxes: boxes_of,
};
const k_parts: Record<Part, string> = {
  answer: "Verdict",
  figures: "Figures",
  failures: "Failures",
  method: "How each number was made",
  provenance: "Provenance",
};

// What the section of the provenance is called is the name of the page.
function title_of(section: Section): string {
  return section.part === "provenance" ? k_parts.provenance : section.title || k_parts[section.part];
}

// A section without a title belongs to the one before it, and there is one provenance.
function joined(sections: Section[]): Section[] {
  const all: Section[] = [];
  for (const section of sections) {
    const last = all[all.length - 1];
    if ((section.title === "" || section.part === "provenance") && last && last.part === section.part) {
      last.charts.push(...section.charts);
      last.timelines.push(...section.timelines);
      last.blocks.push(...section.blocks);
    } else {
      all.push(section);
    }
  }
  return all;
}

function section_of(section: Section): HTMLElement {
  const title = title_of(section);
  const heading = html("h2", {}, html("a", { href: `#${section.id}`, class: "anchor" }, title));
  return html(
    "section",
    { id: section.id, class: section.part },
    heading,
    ...section.charts.map((chart, i) => figure_of(chart, `${section.id}-chart-${i + 1}`, k_pictures[chart.kind](chart))),
    ...section.timelines.map((timeline, i) => timeline_of(timeline, `${section.id}-timeline-${i + 1}`)),
    ...blocks_of(section.blocks, title, section.part === "answer"),
  );
}

function contents_of(sections: Section[]): HTMLElement {
  const list = html("ol");
  for (const section of sections) {
    list.append(html("li", {}, html("a", { href: `#${section.id}` }, title_of(section))));
  }
  return html("nav", { "aria-label": "Contents" }, html("details", { open: window.innerWidth >= 1100 }, html("summary", {}, "Contents"), list));
}

function page_of(report: Report): Node[] {
  const sections = joined(report.sections);
  // Whether the numbers are real concerns all of them.
  const doubts = sections
    .filter((section) => section.part === "provenance")
    .flatMap((section) => section.blocks.filter((block) => block.kind === "findings" && block.label !== "Note"));
  const header = html("header", {}, html("h1", {}, report.title), theme_button(), ...blocks_of(doubts, "", false));
  return [
    html("a", { href: "#main", class: "skip" }, "Skip to the report"),
    header,
    html("div", { class: "columns" }, contents_of(sections), html("main", { id: "main", tabindex: -1 }, ...sections.map(section_of))),
  ];
}

const data = document.getElementById("data")!.textContent!;
document.body.append(...page_of(JSON.parse(data) as Report));
// The place that a link names did not exist until now, and it moves when the charts are drawn in the first frame.
if (location.hash.length > 1) {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  requestAnimationFrame(() => requestAnimationFrame(() => place?.scrollIntoView()));
}
