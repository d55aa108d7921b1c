// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

// How processes scatter, for simulations.
namespace ncclprobe::analysis::simulation {

// std::normal_distribution differs between libraries; this does not.
class Noise {
public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform());
  }
  // Student's t with 3 degrees of freedom: heavy tails.
  double heavy() {
    double a = normal(), b = normal(), c = normal();
    return normal() / std::sqrt((a * a + b * b + c * c) / 3);
  }
  double exponential() { return -std::log(uniform()); }
  bool happens(double chance) { return uniform() < chance; }

private:
  std::mt19937_64 random_;
};

// Draws add to the logarithm of a time.
struct Kind {
  const char* name;
  std::function<double(Noise&)> of_process; // the same in all its cells
  std::function<double(Noise&, int)> of_cell;
};

inline double nothing(Noise&) {
  return 0;
}

// In every n-th cell a process has one of two speeds, chosen at random for each cell. In addition
// it scatters by 0.5%.
inline Kind two_speeds(const char* name, double apart, double chance_of_slow, int every_nth) {
  return {name, nothing, [=](Noise& noise, int cell) {
            double slow = cell % every_nth == 0 && noise.happens(chance_of_slow) ? apart : 0;
            return slow + 0.005 * noise.normal();
          }};
}

inline const Kind k_normal{"normal, 1%, independent from cell to cell", nothing,
                           [](Noise& noise, int) { return 0.01 * noise.normal(); }};
inline const Kind k_shared{"normal, 2% shared by all cells of a process, 0.5% of its own",
                           [](Noise& noise) { return 0.02 * noise.normal(); },
                           [](Noise& noise, int) { return 0.005 * noise.normal(); }};
inline const Kind k_by_cell{
    "normal, from 0.2% to 5.4% by cell", nothing,
    [](Noise& noise, int cell) { return 0.002 * std::pow(3, cell % 4) * noise.normal(); }};
inline const Kind k_heavy{"heavy tails (Student's t, 3 degrees of freedom)",
                          [](Noise& noise) { return 0.01 * noise.heavy(); },
                          [](Noise& noise, int) { return 0.01 * noise.heavy(); }};
inline const Kind k_skewed{"skewed (exponential)",
                           [](Noise& noise) { return 0.02 * noise.exponential(); },
                           [](Noise& noise, int) { return 0.01 * noise.exponential(); }};
inline const Kind k_ticks{
    "clocks with ticks: most times are equal", nothing,
    [](Noise& noise, int) { return 1e-3 * std::round(0.3 * noise.normal()); }};
inline const Kind k_slow_processes{"one process in ten 20% slower",
                                   [](Noise& noise) { return noise.happens(0.1) ? 0.2 : 0.0; },
                                   [](Noise& noise, int) { return 0.01 * noise.normal(); }};
inline const Kind k_slow_or_fast{"each process has one of two speeds 10% apart in all cells",
                                 [](Noise& noise) { return noise.happens(0.5) ? 0.1 : 0.0; },
                                 [](Noise& noise, int) { return 0.005 * noise.normal(); }};
inline const Kind k_half_slow =
    two_speeds("each cell has two speeds 10% apart, half of the processes slow", 0.1, 0.5, 1);
inline const Kind k_fewer_slow = two_speeds("the same, 10% apart, 40% slow", 0.1, 0.4, 1);
inline const Kind k_far_apart = two_speeds("the same, 30% apart, 35% slow", 0.3, 0.35, 1);
inline const Kind k_rarely_slow = two_speeds("the same, 30% apart, 20% slow", 0.3, 0.2, 1);
inline const Kind k_near = two_speeds("the same, 3% apart, half slow", 0.03, 0.5, 1);
inline const Kind k_in_a_third =
    two_speeds("one cell in three has two speeds 10% apart, half slow", 0.1, 0.5, 3);

} // namespace ncclprobe::analysis::simulation
