// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_fit.h"

#include "analysis/timeline/feasible_lines.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::analysis::timeline {
namespace {

using Side = OffsetBound::Side;
using Range = FeasibleLines::Range;
using Sources = std::set<std::size_t>;

// Neighbours in time decide which source is wrong, because a drifting clock is nearly straight over
// them: at most this many of that many in a row. At an end, the source may be right, and the clock
// bent.
constexpr std::size_t k_neighbours = 8;
constexpr std::size_t k_most_contradicted = 3;
constexpr std::size_t k_blocks = 256; // intervals of time; each keeps its tightest bounds

// Unsigned, so nothing overflows for a damaged file.
double offset_difference(std::int64_t a, std::int64_t b) {
  return static_cast<double>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)));
}

std::vector<OffsetBound> by_time(std::vector<OffsetBound> bounds) {
  if (!std::ranges::is_sorted(bounds, {}, &OffsetBound::own_ns))
    std::ranges::stable_sort(bounds, {}, &OffsetBound::own_ns);
  return bounds;
}

// Bounds relative to the first of them, so doubles can represent them.
class Points {
public:
  explicit Points(const std::vector<OffsetBound>& bounds) : bounds_(bounds) {}

  double x(std::size_t i) const { return difference(bounds_[i].own_ns, bounds_.front().own_ns); }
  double y(std::size_t i) const {
    const OffsetBound& bound = bounds_[i];
    const double offset_ns = offset_difference(bound.offset_ns, bounds_.front().offset_ns);
    return bound.side == Side::at_least ? offset_ns - bound.slack_ns : offset_ns + bound.slack_ns;
  }
  // Bounds first to last - 1, without those of some sources. `as_source(i)`: source of bound i.
  template <typename AsSource>
  std::vector<LinePoint> of(Side side, std::size_t first, std::size_t last, const Sources& without,
                            AsSource as_source) const {
    std::vector<LinePoint> points;
    for (std::size_t i = first; i < last; ++i)
      if (bounds_[i].side == side && !without.contains(bounds_[i].source))
        points.push_back({x(i), y(i), as_source(i)});
    return points;
  }

private:
  const std::vector<OffsetBound>& bounds_;
};

class Fitter {
public:
  explicit Fitter(std::vector<OffsetBound> bounds)
      : bounds_(by_time(std::move(bounds))), points_(bounds_) {}

  std::optional<ClockModel> fit() {
    if (!has_both_sides(0, bounds_.size()))
      return std::nullopt;
    if (lines_of(0, bounds_.size()).lacking() > 0)
      find_wrong();
    fit_part(0, bounds_.size());
    name_wrong();
    note_bends();
    ClockModel model(shape());
    model.pieces = pieces_.size();
    for (const Piece& piece : pieces_) {
      model.widened_ns = std::max(model.widened_ns, piece.lines.lacking());
      model.bend_ns = std::max(model.bend_ns, piece.bend_ns);
    }
    model.contradicted = std::move(contradicted_);
    return model;
  }

private:
  // A part of the time in which the clock is assumed to follow a line.
  struct Piece {
    FeasibleLines lines;
    double first_x = 0, last_x = 0;
    double bend_ns = 0;

    double rate() const { return (lines.least_rate() + lines.greatest_rate()) / 2; }
    double length() const { return last_x - first_x; }
    Range at(double x) const {
      const Range range = lines.at(x);
      const double more_ns = bend_ns + lines.lacking();
      return {range.low - more_ns, range.high + more_ns};
    }
  };

  bool has_both_sides(std::size_t first, std::size_t last, const Sources& without) const {
    bool least = false, most = false;
    for (std::size_t i = first; i < last && !(least && most); ++i)
      if (!without.contains(bounds_[i].source))
        (bounds_[i].side == Side::at_least ? least : most) = true;
    return least && most;
  }
  bool has_both_sides(std::size_t first, std::size_t last) const {
    return has_both_sides(first, last, wrong_);
  }

  FeasibleLines lines_of(std::size_t first, std::size_t last, const Sources& without) const {
    auto source = [this](std::size_t i) { return bounds_[i].source; };
    return FeasibleLines(points_.of(Side::at_least, first, last, without, source),
                         points_.of(Side::at_most, first, last, without, source),
                         trace::k_most_drift);
  }
  FeasibleLines lines_of(std::size_t first, std::size_t last) const {
    return lines_of(first, last, wrong_);
  }

  void fit_part(std::size_t first, std::size_t last) {
    FeasibleLines lines = lines_of(first, last);
    if (lines.lacking() > 0)
      if (const std::size_t middle = split(first, last); middle != first) {
        fit_part(first, middle);
        fit_part(middle, last);
        return;
      }
    pieces_.push_back({std::move(lines), points_.x(first), points_.x(last - 1)});
  }

  // Compares each source with its neighbours.
  void find_wrong() {
    std::vector<std::size_t> begins; // of each source's first bound, in order of time
    Sources seen;
    for (std::size_t i = 0; i < bounds_.size(); ++i)
      if (seen.insert(bounds_[i].source).second)
        begins.push_back(i);
    const std::size_t count = std::min(k_neighbours, begins.size());
    for (std::size_t from = 0; from + count <= begins.size(); ++from) {
      const std::size_t to = from + count;
      const Sources wrong =
          wrong_ones(begins[from], to < begins.size() ? begins[to] : bounds_.size());
      if (!wrong.contains(bounds_[begins[from]].source) &&
          !wrong.contains(bounds_[begins[to - 1]].source))
        wrong_.insert(wrong.begin(), wrong.end());
    }
  }

  // The smallest set of sources whose removal leaves a line; nothing if there is more than one
  // choice.
  //
  // At least one of the sources that contradict each other must go. All choices are found by trying
  // these, and then, if still no line is left, the sources that contradict each other next.
  Sources wrong_ones(std::size_t first, std::size_t last) const {
    std::set<Sources> tried{wrong_};
    for (std::size_t count = 0; count <= k_most_contradicted; ++count) {
      std::set<Sources> enough, more;
      for (const Sources& without : tried) {
        if (!has_both_sides(first, last, without))
          continue;
        const FeasibleLines rest = lines_of(first, last, without);
        if (rest.lacking() == 0)
          enough.insert(without);
        for (std::size_t source : rest.contradicting()) {
          Sources one_more = without;
          one_more.insert(source);
          more.insert(std::move(one_more));
        }
      }
      if (enough.size() > 1)
        return {};
      if (!enough.empty()) {
        Sources found = *enough.begin();
        std::erase_if(found, [this](std::size_t source) { return wrong_.contains(source); });
        return found;
      }
      tried = std::move(more);
    }
    return {};
  }

  // How far each is beyond what the others allow at its time.
  void name_wrong() {
    for (const std::size_t source : wrong_) {
      ContradictedReading one{source};
      for (std::size_t i = 0; i < bounds_.size(); ++i) {
        if (bounds_[i].source != source)
          continue;
        const double x = points_.x(i);
        auto piece =
            std::ranges::find_if(pieces_, [x](const Piece& other) { return x <= other.last_x; });
        const Range range = (piece == pieces_.end() ? pieces_.back() : *piece).at(x);
        const double by_ns = bounds_[i].side == Side::at_least ? points_.y(i) - range.high
                                                               : range.low - points_.y(i);
        if (by_ns > one.by_ns)
          one = {source, bounds_[i].own_ns, by_ns};
      }
      contradicted_.push_back(one);
    }
  }

  // The start of the second half; `first` if a half would not determine the clock's rate.
  std::size_t split(std::size_t first, std::size_t last) const {
    const std::uint64_t middle_ns = bounds_[first + (last - first) / 2].own_ns;
    std::size_t middle = first + (last - first) / 2;
    while (middle > first && bounds_[middle - 1].own_ns == middle_ns)
      --middle;
    auto is_enough = [this](std::size_t from, std::size_t to) {
      return has_both_sides(from, to) && has_two_sources(from, to);
    };
    return is_enough(first, middle) && is_enough(middle, last) ? middle : first;
  }

  bool has_two_sources(std::size_t first, std::size_t last) const {
    std::optional<std::size_t> one;
    for (std::size_t i = first; i < last; ++i)
      if (!wrong_.contains(bounds_[i].source)) {
        if (one && *one != bounds_[i].source)
          return true;
        one = bounds_[i].source;
      }
    return false;
  }

  // If a clock's rate changes in the middle of a part, its distance from the line there is an
  // eighth of the change times the length, and its rate differs by half of the change from its
  // neighbours'. A gradual change gives less.
  void note_bends() {
    for (std::size_t i = 1; i < pieces_.size(); ++i) {
      const double change = std::abs(pieces_[i].rate() - pieces_[i - 1].rate());
      for (Piece* piece : {&pieces_[i - 1], &pieces_[i]})
        piece->bend_ns = std::max(piece->bend_ns, change * piece->length() / 4);
    }
  }

  void add_knot(double x, const Range& range) {
    if (knots_.empty() || x > knots_.back().x)
      knots_.push_back({x, range.middle(), range.half_width()});
  }

  void join(const Piece& a, const Piece& b) {
    const double between = (a.last_x + b.first_x) / 2;
    const Range of_a = a.at(between);
    const Range of_b = b.at(between);
    const Range both{std::max(of_a.low, of_b.low), std::min(of_a.high, of_b.high)};
    if (both.low <= both.high) {
      add_knot(between, both);
      return;
    }
    // The clock was set, at an unknown time.
    auto either = [&](double x) {
      return Range{std::min(a.at(x).low, b.at(x).low), std::max(a.at(x).high, b.at(x).high)};
    };
    std::erase_if(knots_, [&](const ClockModel::Knot& knot) { return knot.x >= a.last_x - 1; });
    add_knot(a.last_x - 1, a.at(a.last_x - 1));
    add_knot(a.last_x, either(a.last_x));
    add_knot(b.first_x, either(b.first_x));
    add_knot(b.first_x + 1, b.at(b.first_x + 1));
  }

  ClockModel::Shape shape() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (i > 0)
        join(pieces_[i - 1], pieces_[i]);
      for (double x : pieces_[i].lines.knots())
        add_knot(x, pieces_[i].at(x));
    }
    auto outside = [](const Piece& piece) {
      return ClockModel::Outside{piece.rate(),
                                 (piece.lines.greatest_rate() - piece.lines.least_rate()) / 2};
    };
    return {bounds_.front().own_ns, bounds_.front().offset_ns, std::move(knots_),
            outside(pieces_.front()), outside(pieces_.back())};
  }

  const std::vector<OffsetBound> bounds_; // by time
  const Points points_;
  Sources wrong_; // omitted
  std::vector<Piece> pieces_;
  std::vector<ContradictedReading> contradicted_;
  std::vector<ClockModel::Knot> knots_;
};

} // namespace

void add_bounds(std::vector<OffsetBound>& to, const trace::ClockRow& reading, std::size_t source,
                double error_ns) {
  const double slack_ns = static_cast<double>(reading.error_ns) + error_ns;
  for (Side side : {Side::at_least, Side::at_most})
    to.push_back({reading.at_ns, reading.offset_ns, slack_ns, side, source});
}

std::vector<OffsetBound> tightest(std::vector<OffsetBound> bounds) {
  bounds = by_time(std::move(bounds));
  const Points points(bounds);
  std::vector<OffsetBound> kept;
  const std::size_t blocks = std::min(k_blocks, bounds.size());
  for (std::size_t block = 0; block < blocks; ++block)
    for (Side side : {Side::at_least, Side::at_most}) {
      std::vector<LinePoint> of_block =
          points.of(side, block * bounds.size() / blocks, (block + 1) * bounds.size() / blocks, {},
                    [](std::size_t i) { return i; });
      if (side == Side::at_most)
        of_block = mirrored(std::move(of_block));
      const UpperHull hull(std::move(of_block));
      for (const LinePoint& corner : hull.corners())
        kept.push_back(bounds[corner.source]);
    }
  return by_time(std::move(kept));
}

std::optional<ClockModel> fit_clock(std::vector<OffsetBound> bounds) {
  return Fitter(std::move(bounds)).fit();
}

std::optional<ClockModel> fit_clock(const std::vector<trace::ClockRow>& readings) {
  std::vector<OffsetBound> bounds;
  for (std::size_t i = 0; i < readings.size(); ++i)
    add_bounds(bounds, readings[i], i);
  auto model = fit_clock(std::move(bounds));
  if (model)
    model->readings = readings.size();
  return model;
}

} // namespace ncclprobe::analysis::timeline
