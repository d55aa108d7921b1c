// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/load.h"

#include "analysis/doctor/facts.h"
#include "analysis/results/conditions.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::doctor {
namespace {

using model::Condition;

constexpr std::int64_t k_second_ns = 1'000'000'000;
// A clock changes by a step or two (15 MHz each) between readings.
constexpr double k_noticeable_share = 0.03;

struct Course {
  int first_mhz = 0; // the highest of the first second
  int last_mhz = 0;  // the mean of the last quarter
  std::optional<int> hottest_c;
  std::optional<int> most_power_mw;
  std::uint64_t reasons = 0;
  double lasted_s = 0;
};

std::optional<Course> course_of(const std::vector<Condition>& readings) {
  std::vector<const Condition*> during;
  for (const Condition& one : readings)
    if (one.when == Condition::When::during && one.sm_clock_mhz)
      during.push_back(&one);
  if (during.size() < 4)
    return std::nullopt;
  Course course;
  std::int64_t start_ns = during.front()->at_ns;
  course.lasted_s = static_cast<double>(during.back()->at_ns - start_ns) / k_second_ns;
  for (const Condition* one : during) {
    if (one->at_ns - start_ns <= k_second_ns)
      course.first_mhz = std::max(course.first_mhz, *one->sm_clock_mhz);
    // Missing values are below every value.
    course.hottest_c = std::max(course.hottest_c, one->temperature_c);
    course.most_power_mw = std::max(course.most_power_mw, one->power_mw);
    course.reasons |= one->throttle_reasons.value_or(0);
  }
  std::size_t quarter = std::max<std::size_t>(1, during.size() / 4);
  std::int64_t sum = 0;
  for (std::size_t i = during.size() - quarter; i < during.size(); ++i)
    sum += *during[i]->sm_clock_mhz;
  course.last_mhz = static_cast<int>(sum / static_cast<std::int64_t>(quarter));
  return course;
}

void check_course(int rank, const Course& course, CheckResults& into) {
  std::string seen = fmt::format(
      "rank {}: {} MHz at the start, {} MHz after {:.0f} s; at most {} C and {} W; slowed by: {}",
      rank, course.first_mhz, course.last_mhz, course.lasted_s, shown(course.hottest_c),
      shown_watts(course.most_power_mw), throttle_text(course.reasons & model::k_throttled_bits));
  bool slowed = (course.reasons & model::k_throttled_bits) != 0;
  bool slower = course.last_mhz < course.first_mhz * (1 - k_noticeable_share);
  if (slower || slowed)
    into.add({"D22",
              slower ? CheckStatus::warn : CheckStatus::info,
              slower ? What("clocks_drop", "clocks drop under sustained load")
                     : What("slowed_under_load", "something slowed a GPU down under load"),
              {seen},
              slower ? "long runs are slower than short benchmarks suggest" : "",
              slower
                  ? "check cooling and power limits: nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE"
                  : "",
              {rank}});
  else
    into.add({"D22",
              CheckStatus::ok,
              {"clocks_constant", "clocks stay constant under sustained load"},
              {seen},
              "",
              "",
              {rank}});
}

void check_pcie(const model::Survey& survey, const model::GpuHealth& gpu, CheckResults& into) {
  if (pcie_state(gpu, topology::Load::busy) != topology::PcieState::as_expected)
    into.add_host(
        survey,
        {"D12",
         CheckStatus::fail,
         {"pcie_degraded_under_load", "a PCIe link stays degraded under load"},
         {gpu_label(gpu) + ": " + pcie_text(gpu)},
         "copies to and from the host, and to GPUs without NVLink, are slower in proportion",
         "reseat card and riser; check the slot's settings in the BIOS"});
}

} // namespace

void check_load(const Case& one, CheckResults& into) {
  for (const SmokeTest& smoke_test : one.smoke_tests)
    for (const SmokeTestCell& cell : smoke_test.cells) {
      std::map<int, std::vector<Condition>> by_rank;
      for (const Condition& reading : cell.conditions)
        by_rank[reading.rank].push_back(reading);
      for (const auto& [rank, readings] : by_rank)
        if (auto course = course_of(readings))
          check_course(rank, *course, into);
    }
  for (const model::Survey& survey : one.under_load)
    for (const model::GpuHealth& gpu : survey.health)
      check_pcie(survey, gpu, into);
}

} // namespace ncclprobe::analysis::doctor
