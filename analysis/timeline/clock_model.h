// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// The relation of one clock to another, and its error at each moment.
namespace ncclprobe::analysis::timeline {

// later - earlier, for any two times
double difference(std::uint64_t later, std::uint64_t earlier);

// A reading that contradicts the others and that the model therefore omits.
struct ContradictedReading {
  std::size_t source = 0; // OffsetBound::source
  std::uint64_t own_ns = 0;
  double by_ns = 0; // distance between its range and that of the others
};

// reference = own + offset. The true offset is within the error of the middle, at every moment. By
// default the clocks are the same.
class ClockModel {
public:
  // Offset and error are straight lines between knots. Times are relative to base_ns, offsets to
  // base_offset_ns: small enough for doubles to represent nanoseconds.
  struct Knot {
    double x = 0;
    double offset_ns = 0;
    double error_ns = 0;
  };
  struct Outside { // before the first knot, after the last
    double rate = 0;
    double error_rate = 0; // additional error in ns per ns of distance
  };
  struct Shape {
    std::uint64_t base_ns = 0;
    std::int64_t base_offset_ns = 0;
    std::vector<Knot> knots; // ascending x
    Outside before, after;
  };

  ClockModel() = default;
  explicit ClockModel(Shape shape) : shape_(std::move(shape)) {}

  std::int64_t to_reference(std::uint64_t own_ns) const;
  double error_at(std::uint64_t own_ns) const;
  // The same by the reference's clock, whose offset changes little meanwhile.
  double error_near(std::int64_t reference_ns) const;
  std::uint64_t own_near(std::int64_t reference_ns) const;

  // Moments from first to last; one of them has the largest error of that time.
  std::vector<std::uint64_t> corners(std::uint64_t first_own_ns, std::uint64_t last_own_ns) const;
  double worst_error_ns(std::uint64_t first_own_ns, std::uint64_t last_own_ns) const;

  // The first and the last knot, and the mean rate between them.
  std::uint64_t first_ns() const;
  std::uint64_t last_ns() const;
  double mean_rate() const;

  std::size_t readings = 0;      // readings behind it, including contradicted ones
  std::uint64_t collectives = 0; // collectives behind it, including contradicted ones
  // One line if the clock follows a line; otherwise this many, each for a part of the time.
  std::size_t pieces = 0;
  double bend_ns = 0; // possible error of lines for a bent clock; part of the error
  double widened_ns =
      0; // by how much all bounds were widened because no line was left; part of the error
  std::vector<ContradictedReading> contradicted;
  std::uint64_t contradicted_events = 0; // sources other than readings: calls and collectives

private:
  Knot at(double x) const;
  double x_of(std::uint64_t own_ns) const { return difference(own_ns, shape_.base_ns); }
  std::uint64_t own_of(double x) const {
    return shape_.base_ns + static_cast<std::uint64_t>(std::llround(x));
  }

  Shape shape_;
};

NCCLPROBE_FIELDS(ClockModel, readings, collectives, pieces, bend_ns, widened_ns)

} // namespace ncclprobe::analysis::timeline
