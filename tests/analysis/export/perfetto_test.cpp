// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/export/perfetto.h"
#include "support/catch.h"

#include <fmt/format.h>

#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>

using namespace ncclprobe::analysis::trace_export;

namespace {

// A line for each packet: "12 begin 4294967297 kernel" and the like.
std::vector<std::string> lines_of(const std::string& bytes) {
  std::map<std::uint64_t, std::string> names;
  std::vector<std::string> lines;
  protozero::pbf_reader trace(bytes);
  while (trace.next(1)) {
    protozero::pbf_reader packet = trace.get_message();
    std::string line;
    std::uint64_t at = 0;
    while (packet.next()) {
      switch (packet.tag()) {
      case 8:
        at = packet.get_uint64();
        break;
      case 12: {
        protozero::pbf_reader data = packet.get_message();
        while (data.next()) {
          bool of_events = data.tag() == 2;
          protozero::pbf_reader entry = data.get_message();
          std::uint64_t id = 0;
          while (entry.next())
            if (entry.tag() == 1)
              id = entry.get_uint64();
            else if (std::string name = entry.get_string(); of_events)
              names[id] = name;
        }
        break;
      }
      case 11: {
        protozero::pbf_reader event = packet.get_message();
        std::string what, name, more;
        std::uint64_t track = 0;
        while (event.next()) {
          switch (event.tag()) {
          case 9:
            what = std::array{"?", "begin", "end", "?", "counter"}.at(
                static_cast<std::size_t>(event.get_enum()));
            break;
          case 10:
            name = " " + names.at(event.get_uint64());
            break;
          case 11:
            track = event.get_uint64();
            break;
          case 30:
            more += fmt::format(" = {}", event.get_int64());
            break;
          case 47:
            more += fmt::format(" flow {}", event.get_fixed64());
            break;
          default:
            event.skip();
          }
        }
        line = fmt::format("{} {} {}.{}{}{}", at, what, track >> 32, track & 0xffff, name, more);
        break;
      }
      case 60: {
        protozero::pbf_reader descriptor = packet.get_message();
        line = "track";
        while (descriptor.next()) {
          if (descriptor.tag() == 1) {
            std::uint64_t uuid = descriptor.get_uint64();
            line += fmt::format(" {}.{}", uuid >> 32, uuid & 0xffff);
          } else if (descriptor.tag() == 2) {
            line += " " + descriptor.get_string();
          } else if (descriptor.tag() == 8) {
            descriptor.skip();
            line += " (counter)";
          } else {
            descriptor.skip();
          }
        }
        break;
      }
      default:
        packet.skip();
      }
    }
    lines.push_back(line);
  }
  return lines;
}

Slice slice(std::int64_t start, std::int64_t end, const char* name, std::uint64_t flow = 0) {
  return {.process = 1,
          .track = 2,
          .start_ns = start,
          .end_ns = end,
          .name = name,
          .category = "c",
          .flows = flow == 0 ? std::vector<std::uint64_t>() : std::vector{flow}};
}

} // namespace

TEST_CASE("a Perfetto trace holds tracks, nested slices in order, flows and counters") {
  auto sink = make_perfetto_sink();
  sink->process({1, "rank 0"});
  sink->track({1, 2, "stream 7"});
  sink->slices({slice(10, 50, "outer", 77), slice(10, 20, "inner"), slice(20, 50, "inner"),
                slice(50, 50, "nothing"), slice(50, 60, "next")});
  sink->counter({1, 3, "bytes"}, "bytes");
  sink->sample({1, 3, "bytes", 12, -5});

  std::vector<std::string> lines = lines_of(sink->take() + sink->finish());

  REQUIRE(lines == std::vector<std::string>{
                       "track 1.0", "track 1.2 stream 7", "10 begin 1.2 outer flow 77",
                       "10 begin 1.2 inner", "20 end 1.2", "20 begin 1.2 inner", "50 end 1.2",
                       "50 end 1.2", "50 begin 1.2 nothing", "50 end 1.2", "50 begin 1.2 next",
                       "60 end 1.2", "track 1.3 bytes (counter)", "12 counter 1.3 = -5"});
}
