// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/limits.h"
#include "trace/spool_writer.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace ncclprobe::plugin {

// The files for the rows of events: the process's spool, or, with Limits::last_ns, up to three
// spools that are used in turns. When a fourth begins, the oldest is deleted. So the last events
// are always on disk: whatever ends the process, even SIGKILL, leaves them, and no signal handler
// is needed. A job that hangs makes no events, so it keeps those before the hang.
//
// Readers read all spools of a folder as one capture. What belongs to the whole process
// (communicators, provenance) is in the process's spool, which stays.
class EventSpools {
public:
  static constexpr std::size_t k_spools = 3;

  // `stem`: of the names of spools that are used in turns, "<stem>-1.spool".
  EventSpools(trace::SpoolWriter& whole, const Limits& limits, std::string stem)
      : whole_(whole), limits_(limits), stem_(std::move(stem)) {}

  // To be called before rows of so many bytes are written. False: they are beyond the limit.
  // `at_ns` is CLOCK_REALTIME: ranks begin a new spool at the same moments, so they keep the same
  // time.
  bool make_room(std::size_t bytes, std::uint64_t at_ns);
  trace::SpoolWriter& current() { return turns_.empty() ? whole_ : *turns_.back().spool; }
  // Counts the spools that were begun: each has texts of its own.
  std::uint64_t begun() const { return begun_; }

private:
  struct Turn {
    std::string path;
    std::unique_ptr<trace::SpoolWriter> spool; // null: complete
  };
  void begin_spool();

  trace::SpoolWriter& whole_;
  Limits limits_;
  std::string stem_;
  std::deque<Turn> turns_;
  std::uint64_t begun_ = 0;
  std::uint64_t period_ = 0; // number of the period in which the current spool began
};

} // namespace ncclprobe::plugin
