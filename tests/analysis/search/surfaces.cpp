// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/random_order.h"
#include "analysis/search/simulated_machine.h"

#include <cmath>
#include <numeric>

namespace ncclprobe::analysis::search::simulation {
namespace {

using model::OutcomeKind;

// 1% between processes, shared by their cells, and 0.5% of each cell.
const Kind k_usual{"1% between processes", [](Noise& noise) { return 0.01 * noise.normal(); },
                   [](Noise& noise, int) { return 0.005 * noise.normal(); }};

const Kind k_quiet{"0.2%", [](Noise& noise) { return 0.002 * noise.normal(); },
                   [](Noise&, int) { return 0.0; }};

Parameter parameter(const std::string& name, int values, bool in_process = false) {
  Parameter out{.name = name, .in_process = in_process};
  for (int value = 0; value < values; ++value)
    out.values.push_back(value == 0 ? "" : std::to_string(value));
  return out;
}

std::vector<Target> targets(int count) {
  std::vector<Target> out;
  for (int i = 0; i < count; ++i)
    out.push_back({.name = std::to_string(i), .bytes = std::uint64_t{8} << (20 + 2 * i)});
  return out;
}

// Which value plays which part: other ones with each seed, but the default.
class Parts {
public:
  Parts(const Space& space, std::uint64_t seed) : noise_(seed) {
    Random random(seed);
    for (const Parameter& parameter : space.parameters) {
      std::vector<int> values(parameter.values.size());
      std::iota(values.begin(), values.end(), 0);
      std::vector<int> moved(values.begin() + 1, values.end());
      put_in_random_order(moved, random);
      std::copy(moved.begin(), moved.end(), values.begin() + 1);
      parts_.push_back(values);
    }
  }
  Candidate of(const Candidate& candidate) const {
    Candidate out;
    for (std::size_t p = 0; p < candidate.size(); ++p)
      out.push_back(parts_[p][static_cast<std::size_t>(candidate[p])]);
    return out;
  }
  // About that effect: a fifth more or less.
  double about(double effect) { return effect * (0.8 + 0.4 * noise_.uniform()); }

private:
  Noise noise_;
  std::vector<std::vector<int>> parts_;
};

using Effects = std::vector<std::vector<double>>; // of each value of each parameter

double sum_of(const Effects& effects, const Candidate& parts) {
  double sum = 0;
  for (std::size_t p = 0; p < effects.size(); ++p)
    sum += effects[p][static_cast<std::size_t>(parts[p])];
  return sum;
}

Effects about(Parts& parts, Effects effects) {
  for (auto& of_parameter : effects)
    for (double& one : of_parameter)
      one = parts.about(one);
  return effects;
}

Space process_space(std::initializer_list<int> values, int target_count = 3) {
  Space space{.targets = targets(target_count)};
  for (int count : values)
    space.parameters.push_back(
        parameter(std::string(1, static_cast<char>('A' + space.parameters.size())), count));
  return space;
}

// algorithm, protocol and channels
Space mixed_space(int process_values, int target_count) {
  Space space{.targets = targets(target_count)};
  space.parameters = {parameter("A", process_values), parameter("algorithm", 4, true),
                      parameter("protocol", 3, true), parameter("channels", 4, true)};
  return space;
}

Surface additive(std::string name, Space space, const Effects& effects, std::uint64_t seed,
                 const Kind& kind = k_usual) {
  Parts parts(space, seed);
  return {.name = std::move(name),
          .space = std::move(space),
          .log_time =
              [parts, mine = about(parts, effects)](const Candidate& one, std::size_t) {
                return sum_of(mine, parts.of(one));
              },
          .kind = kind};
}

Surface plateaus(std::uint64_t seed) {
  return additive("plateaus", process_space({4, 4, 4}),
                  {{0, -0.12, -0.12, 0}, {0, 0, 0, 0.3}, {0, 0, 0, 0}}, seed);
}

Surface noisy(std::uint64_t seed) {
  return additive("noise with heavy tails", process_space({4, 4, 4}),
                  {{0, -0.15, 0.1, 0.02}, {0, 0.05, -0.08, 0}, {0, 0.02, 0.1, 0}}, seed,
                  analysis::simulation::k_heavy);
}

// Each of two values alone is slower, both together are faster.
Surface interaction(std::uint64_t seed) {
  Surface surface =
      additive("interaction of two parameters", process_space({4, 4, 4}),
               {{0, 0.06, 0.2, 0.03}, {0, 0.05, 0.02, 0.1}, {0, 0.1, 0.02, -0.03}}, seed);
  Parts parts(surface.space, seed);
  surface.log_time = [sum = surface.log_time, parts,
                      together = parts.about(-0.3)](const Candidate& one, std::size_t target) {
    const Candidate at = parts.of(one);
    return sum(one, target) + (at[0] == 1 && at[1] == 1 ? together : 0);
  };
  return surface;
}

Surface two_speeds_of_cells(std::uint64_t seed) {
  return additive("two speeds of each cell, 3% apart", mixed_space(4, 4),
                  {{0, -0.2, 0.1, 0}, {0, -0.15, 0.2, 0.4}, {0, 0.3, -0.1}, {0, 0.1, -0.1, 0.05}},
                  seed, analysis::simulation::k_near);
}

// A process parameter is much faster for the smallest size, and slower for the others.
Surface deceptive(std::uint64_t seed) {
  Surface surface =
      additive("deceptive small size", mixed_space(4, 4),
               {{0, -0.10, 0, 0.05}, {0, 0.2, -0.1, 0.3}, {0, 0.1, 0.3}, {0, 0, 0.1, 0.2}}, seed);
  Parts parts(surface.space, seed);
  surface.log_time = [sum = surface.log_time, parts](const Candidate& one, std::size_t target) {
    const Candidate at = parts.of(one);
    const bool small = target == 0;
    double more = at[0] == 2 ? (small ? -0.4 : 0.12) : 0; // for all targets: slower
    more += at[1] == 1 && small ? -0.5 : 0;               // fast only for the small size
    return sum(one, target) + more;
  };
  return surface;
}

// What fails looks fast, or costs the time until its deadline.
Surface failing(std::uint64_t seed) {
  Surface surface =
      additive("hangs, crashes and wrong data", process_space({4, 4, 4}),
               {{0, -0.15, 0, -0.2}, {0, 0.05, -0.04, -0.2}, {0, -0.6, -0.05, 0}}, seed);
  Parts parts(surface.space, seed);
  surface.outcome = [parts](const Candidate& one) {
    const Candidate at = parts.of(one);
    if (at[0] == 3)
      return OutcomeKind::timed_out;
    if (at[1] == 3)
      return OutcomeKind::crashed;
    if (at[2] == 1)
      return OutcomeKind::wrong_data;
    return at[1] == 1 && at[2] == 3 ? OutcomeKind::timed_out : OutcomeKind::ok;
  };
  return surface;
}

// The last value of every parameter is the best, and each step counts a little.
Surface edge(std::uint64_t seed) {
  Surface surface{.name = "optimum at an edge", .space = process_space({4, 4, 4}), .kind = k_usual};
  Noise noise(seed);
  std::vector<double> slopes;
  for (std::size_t p = 0; p < 3; ++p)
    slopes.push_back(-0.02 - 0.03 * noise.uniform());
  surface.log_time = [slopes](const Candidate& one, std::size_t) {
    double sum = 0;
    for (std::size_t p = 0; p < slopes.size(); ++p)
      sum += slopes[p] * one[p];
    return sum;
  };
  return surface;
}

Surface drifting(std::uint64_t seed) {
  Surface surface = additive("drift and throttling", process_space({4, 4, 4}),
                             {{0, -0.12, 0.05, 0}, {0, 0.02, -0.05, 0}, {0, 0, 0.1, 0.02}}, seed);
  Noise noise(seed);
  const double first = 10 + 25 * noise.uniform(), second = 45 + 20 * noise.uniform();
  surface.drift = [=](double seconds) {
    const bool throttled =
        (seconds > first && seconds < first + 6) || (seconds > second && seconds < second + 4);
    return 0.001 * seconds + (throttled ? 0.25 : 0);
  };
  return surface;
}

} // namespace

std::vector<Surface> surfaces_with_traps(std::uint64_t seed) {
  return {plateaus(seed),  noisy(seed),   interaction(seed), two_speeds_of_cells(seed),
          deceptive(seed), failing(seed), edge(seed),        drifting(seed)};
}

Surface small_surface() {
  Surface surface{.name = "small", .kind = k_quiet};
  surface.space.parameters = {{.name = "P", .values = {"", "1", "2"}},
                              {.name = "Q", .values = {"", "1"}},
                              {.name = "R", .values = {"", "1", "2"}, .in_process = true}};
  surface.space.targets = {{.name = "1M", .weight = 1, .bytes = 1 << 20},
                           {.name = "64M", .weight = 3, .bytes = 64 << 20}};
  surface.log_time = [](const Candidate& one, std::size_t) {
    return (one[0] == 1 ? -0.2 : 0.0) + (one[1] == 1 ? 0.05 : 0.0) + (one[2] == 2 ? -0.1 : 0.0);
  };
  return surface;
}

Surface flat_surface(const Kind& kind) {
  Space space = mixed_space(4, 3);
  space.parameters.insert(space.parameters.begin(), parameter("B", 4));
  return {.name = kind.name,
          .space = std::move(space),
          .log_time = [](const Candidate&, std::size_t) { return 0.0; },
          .kind = kind};
}

} // namespace ncclprobe::analysis::search::simulation
