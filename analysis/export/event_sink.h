// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Receives the events of a trace and writes them in another program's format.
namespace ncclprobe::analysis::trace_export {

// A host.
struct Process {
  int id = 0; // from 1
  std::string name;
};

// A line in the picture, whose slices are next to or within each other.
struct Track {
  int process = 0;
  int id = 0; // in its process, from 1; also the display order
  std::string name;
};

using ArgumentValue = std::variant<std::uint64_t, std::int64_t, std::string_view>;
struct Argument {
  const char* name;
  ArgumentValue value;
};

// Times are ns from the first event of the trace.
struct Slice {
  int process = 0;
  int track = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::string_view name;
  const char* category = "";
  std::vector<std::uint64_t>
      flows; // ids of flows: slices with a common one belong together; none is 0
  std::vector<Argument> arguments;
};

struct CounterSample {
  int process = 0;
  int counter = 0; // Track::id
  std::string_view name;
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

// Encodes its input, which must be in this order: a process, its tracks and counters, their slices;
// slices of each track by start, longer ones first.
class EventSink {
public:
  virtual ~EventSink() = default;
  virtual void process(const Process& process) = 0;
  virtual void track(const Track& track) = 0;
  virtual void counter(const Track& track, const char* unit) = 0;
  // Slices of one track, none of them partly in another.
  virtual void slices(const std::vector<Slice>& of_track) = 0;
  virtual void sample(const CounterSample& sample) = 0;
  // The text encoded since the last call, to be appended to the file. After the last event,
  // finish() returns the rest.
  virtual std::string take() = 0;
  virtual std::string finish() = 0;
};

} // namespace ncclprobe::analysis::trace_export
