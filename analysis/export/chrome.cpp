// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/export/chrome.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::analysis::trace_export {
namespace {

using nlohmann::json;

class ChromeSink : public EventSink {
public:
  void process(const Process& process) override {
    name("process_name", process.id, 0, process.name);
    add({{"ph", "M"},
         {"name", "process_sort_index"},
         {"pid", process.id},
         {"args", {{"sort_index", process.id}}}});
  }
  void track(const Track& track) override {
    name("thread_name", track.process, track.id, track.name);
    add({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"pid", track.process},
         {"tid", track.id},
         {"args", {{"sort_index", track.id}}}});
  }
  void counter(const Track&, const char*) override {} // its first sample creates it

  void slices(const std::vector<Slice>& of_track) override {
    for (const Slice& slice : of_track) {
      json event = {{"ph", "X"},
                    {"pid", slice.process},
                    {"tid", slice.track},
                    {"ts", microseconds(slice.start_ns)},
                    {"dur", microseconds(slice.end_ns - slice.start_ns)},
                    {"name", std::string(slice.name)},
                    {"cat", slice.category}};
      if (!slice.flows
               .empty()) { // of several IDs it takes one: the same on both sides of an exchange
        event["bind_id"] = fmt::format("0x{:x}", *std::ranges::min_element(slice.flows));
        event["flow_in"] = true;
        event["flow_out"] = true;
      }
      for (const Argument& argument : slice.arguments)
        std::visit(
            [&](const auto& value) {
              if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>)
                event["args"][argument.name] = std::string(value);
              else
                event["args"][argument.name] = value;
            },
            argument.value);
      add(event);
    }
  }

  void sample(const CounterSample& sample) override {
    add({{"ph", "C"},
         {"pid", sample.process},
         {"ts", microseconds(sample.at_ns)},
         {"name", std::string(sample.name)},
         {"args", {{"bytes", sample.value}}}});
  }

  std::string take() override { return std::exchange(bytes_, {}); }
  std::string finish() override {
    if (first_)
      bytes_ += k_begin;
    bytes_ += "\n]}\n";
    return take();
  }

private:
  static constexpr const char* k_begin = R"({"displayTimeUnit":"ns","traceEvents":[)";

  static double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1'000; }

  void name(const char* what, int process, int track, const std::string& name) {
    add({{"ph", "M"},
         {"name", what},
         {"pid", process},
         {"tid", track},
         {"args", {{"name", name}}}});
  }

  void add(const json& event) {
    bytes_ += std::exchange(first_, false) ? fmt::format("{}\n", k_begin) : ",\n";
    // Names may contain any bytes; as ASCII escapes none of them affects a terminal.
    bytes_ += event.dump(-1, ' ', true, json::error_handler_t::replace);
  }

  std::string bytes_;
  bool first_ = true;
};

} // namespace

std::unique_ptr<EventSink> make_chrome_sink() {
  return std::make_unique<ChromeSink>();
}

} // namespace ncclprobe::analysis::trace_export
