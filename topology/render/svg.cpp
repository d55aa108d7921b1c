// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/svg.h"

#include "topology/render/boxes.h"
#include "topology/render/link_tracks.h"
#include "topology/render/palette.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::topology {

namespace {

using Kind = OutlineNode::Kind;

constexpr double k_track = 18; // distance between tracks
constexpr double k_above_tracks = 16;
constexpr double k_above_bar = 26; // space for the numbers of links
constexpr double k_bar = 24;       // of the NVSwitches
constexpr double k_corner = 5;

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

std::string id_of_gpu(int gpu) {
  return fmt::format("gpu{}", gpu);
}

// Lines that leave a GPU need space beside each other.
LeastWidths widths_for(const std::vector<NvlinkBundle>& bundles) {
  constexpr double k_between_lines = 20;
  LeastWidths widths;
  for (const NvlinkBundle& bundle : bundles) {
    auto add_line = [&](int gpu) {
      widths.try_emplace(id_of_gpu(gpu), k_between_lines).first->second += k_between_lines;
    };
    add_line(bundle.gpu);
    if (bundle.peer)
      add_line(*bundle.peer);
  }
  return widths;
}

void collect_gpus(const Box& box, std::map<std::string, const Box*>& gpus) {
  if (box.node->kind == Kind::gpu)
    gpus[box.node->id] = &box;
  for (const Box& inner : box.row)
    collect_gpus(inner, gpus);
}

class Picture {
public:
  void host(const Outline& outline) {
    Box box = place_boxes(outline.root, k_pad, bottom_, widths_for(outline.nvlinks));
    std::map<std::string, const Box*> gpus;
    collect_gpus(box, gpus);
    std::map<int, GpuEdge> edges;
    for (const NvlinkBundle& bundle : outline.nvlinks)
      for (int gpu : {bundle.gpu, bundle.peer.value_or(bundle.gpu)}) {
        const Box& one = *gpus.at(id_of_gpu(gpu));
        edges[gpu] = {one.x, one.x + one.width, one.bottom()};
      }
    LinkRoutes links = route_links(outline.nvlinks, edges);
    double boxes_bottom = box.bottom();
    box.height += height_of(links); // the links include the host's
    draw(box);
    draw_links(links, boxes_bottom, box);
    width_ = std::max(width_, box.width + 2 * k_pad);
    bottom_ = box.bottom() + k_pad / 2;
    for (const std::string& remark : outline.remarks)
      note("Note: " + remark, box.width);
    if (!outline.sources.empty())
      note("Sources: " + outline.sources, box.width);
    bottom_ += 2 * k_pad;
  }

  std::string take() const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
               "<style>text{{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222}}"
               ".title{{font-size:12px;font-weight:bold}}.note{{font-style:italic}}"
               ".link{{fill:none;stroke:{2}}}.under{{fill:none;stroke:#fff}}"
               ".count{{fill:{2};text-anchor:middle;font-weight:bold}}</style>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
               width_, bottom_, k_nvlink_colour) +
           shapes_ + "</svg>\n";
  }

private:
  static double height_of(const LinkRoutes& links) {
    double height = links.tracks > 0 ? k_above_tracks + links.tracks * k_track : 0;
    return height + (links.switches ? k_above_bar + k_bar + k_pad : 0);
  }

  void note(const std::string& words, double width) {
    for (const std::string& line : wrapped(words, letters_in(std::max(width, 500.0)))) {
      text(k_pad, bottom_ += k_line, "note", line);
      width_ = std::max(width_, text_width(line) + 2 * k_pad);
    }
  }

  void rectangle(double x, double y, double width, double height, Kind kind) {
    shapes_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                           "rx=\"5\" fill=\"{}\" stroke=\"{}\"/>\n",
                           x, y, width, height, outline_fill(kind), outline_stroke(kind));
  }

  void draw(const Box& box) {
    rectangle(box.x, box.y, box.width, box.height, box.node->kind);
    double line = box.y + k_pad / 2;
    for (const std::string& words : box.title)
      text(box.x + k_pad, line += k_line, "title", words);
    for (const std::string& words : box.details)
      text(box.x + k_pad, line += k_line, "", words);
    for (const Box& inner : box.above)
      draw(inner);
    for (const Box& inner : box.row)
      draw(inner);
  }

  void text(double x, double y, std::string_view css_class, const std::string& words) {
    std::string attribute = css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class);
    shapes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attribute,
                           escaped(words));
  }

  // A white line below the green one makes crossings visible.
  void line(const std::string& path, double stroke) {
    for (bool under : {true, false})
      shapes_ += fmt::format("<path class=\"{}\" stroke-width=\"{:.1f}\" d=\"{}\"/>\n",
                             under ? "under" : "link", under ? stroke + 3 : stroke, path);
  }

  void count(double x, double y, int links) {
    std::string words = fmt::format("NV{}", links);
    double half = text_width(words) / 2 + 2;
    shapes_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"13\" "
                           "fill=\"#fff\"/>\n<text class=\"count\" x=\"{:.1f}\" y=\"{:.1f}\">{}"
                           "</text>\n",
                           x - half, y - 6.5, 2 * half, x, y + 4, words);
  }

  static double stroke_of(const NvlinkBundle& bundle) {
    return std::min(1.2 + bundle.links * 0.3, 3.0);
  }

  // The host's boxes end at `below`.
  void draw_links(const LinkRoutes& links, double below, const Box& host) {
    double bar = below + height_of(links) - k_pad - k_bar;
    double first_track = below + k_above_tracks;
    for (const LinkRoute& route : links.routes) {
      double y = route.track < 0 ? bar : first_track + route.track * k_track;
      if (route.track < 0)
        line(fmt::format("M{:.1f} {:.1f}V{:.1f}", route.from.x, route.from.y, y),
             stroke_of(route.bundle));
      else
        line(fmt::format("M{0:.1f} {1:.1f}V{2:.1f}Q{0:.1f} {3:.1f} {4:.1f} {3:.1f}H{5:.1f}"
                         "Q{6:.1f} {3:.1f} {6:.1f} {2:.1f}V{7:.1f}",
                         route.from.x, route.from.y, y - k_corner, y, route.from.x + k_corner,
                         route.to.x - k_corner, route.to.x, route.to.y),
             stroke_of(route.bundle));
    }
    if (links.switches) {
      rectangle(host.x + k_pad, bar, host.width - 2 * k_pad, k_bar, Kind::nvswitch);
      text(host.x + 2 * k_pad, bar + 16, "title", "NVSwitch");
    }
    for (const LinkRoute& route : links.routes)
      count(route.label_x,
            route.track < 0 ? bar - k_above_bar / 2 : first_track + route.track * k_track,
            route.bundle.links);
  }

  std::string shapes_;
  double width_ = 0;
  double bottom_ = k_pad;
};

} // namespace

std::string render_svg(const Machine& machine) {
  Picture picture;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    Outline outline = outline_of(machine.hosts[i], i);
    picture.host(outline);
  }
  return picture.take();
}

} // namespace ncclprobe::topology
