// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

#include <cstdint>
#include <optional>
#include <vector>

// Clocks of hosts that nobody compared, from what is physically possible: no rank ends an
// all-reduce (or another collective in which all need all) before the last rank has begun it. So
// every one of them says between which two offsets the other host's clock lies, and all must be
// true at once.
namespace ncclprobe::analysis::timeline {

// All lines "offset = a + rate x time" that are possible: a convex polygon, from which every
// collective cuts off what it forbids.
class OffsetPolygon {
public:
  // A moment of the other host's clock, and a limit of its offset to the reference then.
  struct Limit {
    std::uint64_t own_ns = 0;
    std::int64_t offset_ns = 0;
  };
  void allow(const Limit& least, const Limit& most);
  // Where nothing would have been left (clocks do not drift evenly), it was widened by so much in
  // all, ns; the errors of the readings are greater by it.
  double widened_ns() const { return widened_ns_; }

  // The middle of the polygon at the first and the last time, with half of its width as error.
  std::vector<trace::ClockRow> readings() const;

private:
  struct Line {
    double offset_ns = 0; // at the first time, to the first offset
    double rate = 0;      // ns each ns
    double at(double after_ns) const { return offset_ns + rate * after_ns; }
  };
  void cut(double after_ns, double limit_ns, double side);
  void widen(double by_ns);
  trace::ClockRow reading(std::uint64_t own_ns) const;
  double after(std::uint64_t own_ns) const;

  std::vector<Line> corners_; // in order round it
  std::uint64_t base_at_ns_ = 0, first_ns_ = 0, last_ns_ = 0;
  std::int64_t base_offset_ns_ = 0;
  double widened_ns_ = 0;
};

// Gives the ranks of hosts without readings those that follow from collectives that they share with
// the first rank's host. Reads traces only if there are such hosts. A host that shares none is left
// as it is, and ranks that cannot be read are left out.
void infer_clocks(TraceSource& source);

} // namespace ncclprobe::analysis::timeline
