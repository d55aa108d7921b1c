// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/verdict.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;

namespace {

using Times = std::vector<std::int64_t>; // of processes, in ns

// One rank, so that times are exact. Replicates are numbered, so the default's times alternate
// between its arms.
void add_processes(RunBuilder& run, const std::vector<model::Setting>& settings,
                   const Times& times_ns, std::uint64_t bytes = 1000) {
  for (std::int64_t time_ns : times_ns)
    run.trial(settings).cell("broadcast", bytes, time_ns);
}

std::vector<SettingResult> results_of(const Times& default_ns, const Times& tree_ns) {
  RunBuilder run(1);
  add_processes(run, {}, default_ns);
  add_processes(run, {{"NCCL_ALGO", "Tree"}}, tree_ns);
  return setting_results(run);
}

const Times k_default{1000, 1004, 997, 1001, 1003, 998, 1002, 999, 1000, 1001};

Verdict verdict_of(const Times& default_ns, const Times& tree_ns) {
  auto results = results_of(default_ns, tree_ns);
  auto verdicts = judge(results);
  REQUIRE(verdicts.comparisons.size() == 1);
  return verdicts.comparisons[0].verdict;
}

} // namespace

TEST_CASE("a setting is better, worse, or no different beyond the noise") {
  CHECK(verdict_of(k_default, {950, 952, 948, 951, 949}) == Verdict::better);
  CHECK(verdict_of(k_default, {1050, 1052, 1048, 1051, 1049}) == Verdict::worse);
  CHECK(verdict_of(k_default, {1001, 999, 1003, 998, 1000}) == Verdict::no_difference);
}

TEST_CASE("the ratio is that of geometric means, the default's time over the setting's") {
  auto results = results_of({100, 400, 100, 400}, {50, 50});
  auto verdicts = judge(results);

  CHECK(verdicts.comparisons[0].speed_ratio == Approx(4.0));
}

TEST_CASE("under five processes on either side nothing is decided, however far apart") {
  CHECK(verdict_of(k_default, {500, 501, 502, 503}) == Verdict::not_decided);
  CHECK(verdict_of({1000, 1001, 1002, 1003}, {500, 501, 502, 503, 504}) == Verdict::not_decided);

  auto results = results_of(k_default, {500, 501, 502, 503});
  auto verdicts = judge(results);
  const Why& why = verdicts.comparisons[0].why_not_decided;
  REQUIRE(id_of(why) == "too_few_processes");
  CHECK(why->values == Object{{"whose", "the setting"}, {"processes", 4U}, {"least", 5U}});
  CHECK_FALSE(verdicts.comparisons[0].adjusted_p.has_value());
  CHECK(verdicts.tested == 0);
}

TEST_CASE("a difference within the A/A noise floor is none, even if it is significant") {
  // The arms differ by 10%, each without scatter.
  Times default_ns{1000, 1100, 1000, 1100, 1000, 1100, 1000, 1100, 1000, 1100};

  auto results = results_of(default_ns, {970, 970, 970, 970, 970});
  auto verdicts = judge(results);

  REQUIRE(verdicts.floors[0].has_value());
  CHECK(verdicts.floors[0]->ratio == Approx(1.1));
  CHECK(*verdicts.comparisons[0].adjusted_p < k_alpha);
  CHECK(verdicts.comparisons[0].verdict == Verdict::no_difference);
  CHECK(*verdicts.comparisons[0].detectable == Approx(1.1));
  CHECK(verdicts.lowest_arms_p < k_alpha); // and the default differs from itself
}

TEST_CASE("each class of sizes has its own floor, the largest ratio of the arms in it") {
  RunBuilder run(1);
  Times small{1000, 1050, 1000, 1050, 1000, 1050}, large{1000, 1001, 1000, 1001, 1000, 1001};
  add_processes(run, {}, small, 1024);
  add_processes(run, {}, {1000, 1020, 1000, 1020, 1000, 1020}, 2048);
  add_processes(run, {}, large, std::uint64_t{64} << 20);
  auto results = setting_results(run);

  auto verdicts = judge(results);

  CHECK(verdicts.floors[0]->ratio == Approx(1.05));
  CHECK(verdicts.floors[0]->cells == 2);
  CHECK_FALSE(verdicts.floors[1].has_value());
  CHECK(verdicts.floors[2]->ratio == Approx(1.001));
  CHECK(verdicts.arms.size() == 3);
}

TEST_CASE("the correction is over all comparisons of the run") {
  RunBuilder run(1);
  add_processes(run, {}, k_default);
  add_processes(run, {{"A", "1"}}, {995, 1006, 990, 1001, 997});
  auto alone = setting_results(run);
  double p = *judge(alone).comparisons[0].adjusted_p;
  for (int i = 2; i <= 4; ++i)
    add_processes(run, {{"A", std::to_string(i)}}, {1001, 999, 1003, 998, 1000});
  auto together = setting_results(run);

  auto verdicts = judge(together);

  CHECK(verdicts.tested == 4);
  CHECK(*verdicts.comparisons[0].adjusted_p == Approx(std::min(1.0, 4 * p)));
}

TEST_CASE("a slow process is kept: it widens the interval instead of being dropped") {
  auto clean = results_of(k_default, {950, 952, 948, 951, 949});
  auto slow = results_of(k_default, {950, 952, 948, 951, 2000});

  auto of_clean = judge(clean), of_slow = judge(slow);

  auto width = [](const Verdicts& verdicts) {
    const Interval& interval = *verdicts.comparisons[0].interval;
    return interval.high / interval.low;
  };
  CHECK(width(of_slow) > 2 * width(of_clean));
  CHECK(of_slow.comparisons[0].verdict == Verdict::not_decided);
  CHECK(of_slow.comparisons[0].too_noisy);
}

TEST_CASE("the default alone, or without a result, leaves nothing to compare") {
  auto only_default = results_of(k_default, {});
  auto no_default = results_of({}, {50, 60});

  CHECK(judge(only_default).comparisons.empty());
  CHECK(judge(no_default).comparisons.empty());
  CHECK(judge(no_default).of(no_default[0]) == nullptr);
}

TEST_CASE("wrong data is never compared, on either side") {
  auto results = results_of(k_default, {500, 501, 502, 503, 504});
  results[1].data = DataState::wrong;
  CHECK(judge(results).comparisons.empty());
  CHECK(setting_verdicts(results, judge(results))[0].wrong == 1);

  results[1].data = DataState::checked;
  results[0].data = DataState::wrong;
  CHECK(judge(results).comparisons.empty());
}

TEST_CASE("a family is everything but the size") {
  auto results = results_of({100}, {50});
  SettingResult other = results[1];
  other.label.bytes = 8;
  CHECK(same_family(results[0], other));

  other.label.what = model::CollectiveLabel{.launch = model::Launch::graph};
  CHECK_FALSE(same_family(results[0], other));
  other = results[1];
  other.timing_mode = model::TimingMode::latency;
  CHECK_FALSE(same_family(results[0], other));
}

TEST_CASE("a comparison with throttled processes is marked and kept") {
  RunBuilder run(1);
  add_processes(run, {}, k_default);
  run.trials[3].cells[0].conditions = {
      {.when = model::Condition::When::after, .throttle_reasons = 0x4}};
  add_processes(run, {{"A", "1"}}, {950, 952, 948, 951, 949});
  auto results = setting_results(run);

  auto verdicts = judge(results);

  CHECK(results[0].throttled_processes == 1);
  CHECK(verdicts.comparisons[0].throttled);
  CHECK(verdicts.comparisons[0].verdict == Verdict::better);
}

TEST_CASE("a setting's cells are counted by verdict") {
  RunBuilder run(1);
  for (std::uint64_t bytes : {1000, 2000, 3000})
    add_processes(run, {}, k_default, bytes);
  add_processes(run, {{"A", "1"}}, {950, 952, 948, 951, 949}, 1000);
  add_processes(run, {{"A", "1"}}, {1050, 1052, 1048, 1051, 1049}, 2000);
  add_processes(run, {{"A", "1"}}, {1001, 999}, 3000);
  auto results = setting_results(run);

  auto sums = setting_verdicts(results, judge(results));

  REQUIRE(sums.size() == 1);
  CHECK(sums[0].better == 1);
  CHECK(sums[0].worse == 1);
  CHECK(sums[0].no_difference == 0);
  CHECK(sums[0].not_decided == 1);
  CHECK(sums[0].cells() == 3);
}

TEST_CASE("where only a huge difference would have a verdict it is too noisy to tell") {
  auto results = results_of({1000, 3000, 1500, 2500, 1000, 2000, 3000, 1200, 1800, 2700},
                            {1100, 2900, 1600, 2400, 2000});

  auto verdicts = judge(results);

  const Comparison& one = verdicts.comparisons[0];
  CHECK(one.verdict == Verdict::not_decided);
  CHECK(one.too_noisy);
  CHECK(*one.detectable > k_largest_missed_ratio);
  REQUIRE(id_of(one.why_not_decided) == "too_noisy");
  CHECK(one.why_not_decided->values == Object{{"percent", 100 * (*one.detectable - 1)}});
  CHECK(one.adjusted_p.has_value());
  CHECK(verdicts.tested == 1);
  CHECK(setting_verdicts(results, verdicts)[0].too_noisy == 1);
  CHECK(setting_verdicts(results, verdicts)[0].not_decided == 1);
}

TEST_CASE("a comparison whose processes all met the same luck is judged by the cell's scatter") {
  // Two speeds 10% apart. A=1 was slow five times by chance; the other settings show both speeds.
  const Times fast{1000, 1004, 997, 1001, 1003, 998, 1002, 999, 1000, 1001};
  const Times slow{1100, 1104, 1097, 1101, 1103}, mixed{1000, 1100, 1004, 1097, 1101};
  REQUIRE(verdict_of(fast, slow) == Verdict::worse);

  RunBuilder run(1);
  add_processes(run, {}, fast);
  add_processes(run, {{"A", "1"}}, slow);
  for (int value = 2; value <= 13; ++value)
    add_processes(run, {{"A", std::to_string(value)}}, mixed);
  auto results = setting_results(run);
  auto verdicts = judge(results);

  REQUIRE(results[1].setting == "A=1");
  const Comparison& one = *verdicts.of(results[1]);
  CHECK(one.verdict == Verdict::no_difference);
  CHECK(one.p > one.tests.front().p);
  CHECK(one.interval->high > one.tests.front().interval.high);
}

TEST_CASE("a comparison whose processes all met the same luck is judged by its size class") {
  const Times fast{1000, 1004, 997, 1001, 1003, 998, 1002, 999, 1000, 1001};
  const Times slow{1100, 1104, 1097, 1101, 1103}, mixed{1000, 1100, 1004, 1097, 1101};
  const Times mixed_default{1000, 1100, 1004, 1097, 1101, 1000, 1003, 1102, 998, 1099};
  RunBuilder run(1);
  add_processes(run, {}, fast, 1024);
  add_processes(run, {{"A", "1"}}, slow, 1024);
  for (std::uint64_t bytes = 2000; bytes <= 60000; bytes += 1000) {
    add_processes(run, {}, mixed_default, bytes);
    add_processes(run, {{"A", "1"}}, mixed, bytes);
  }
  auto results = setting_results(run);

  auto verdicts = judge(results);

  REQUIRE(verdicts.comparisons[0].setting->label.bytes == 1024);
  CHECK(verdicts.comparisons[0].verdict == Verdict::no_difference);
}

namespace {

// In each process the default twice, then the in-process setting. One rank.
struct InProcess {
  std::int64_t first_ns, second_ns, ring_ns;
};

std::vector<SettingResult> in_process_results(const std::vector<InProcess>& processes) {
  RunBuilder run(1);
  model::Cell plain = make_cell("broadcast", 1000), ring = plain;
  ring.settings = {{"algorithm", "ring"}};
  for (const InProcess& one : processes)
    run.trial()
        .cell(plain, make_record(1, one.first_ns))
        .cell(ring, make_record(1, one.ring_ns))
        .cell(plain, make_record(1, one.second_ns));
  return setting_results(run);
}

} // namespace

TEST_CASE("in-process settings are compared with the default of the same processes") {
  // Processes differ by up to 4 times, the settings within them by 10%.
  auto results = in_process_results({{1000, 1002, 901},
                                     {2000, 1998, 1800},
                                     {4000, 4004, 3602},
                                     {1500, 1499, 1349},
                                     {3000, 3003, 2701}});
  auto verdicts = judge(results);

  REQUIRE(results.size() == 2);
  CHECK(results[0].is_default);
  CHECK(results[0].processes[0].each_ns == std::vector<double>{1000, 1002});
  CHECK(results[1].setting == "algorithm=ring");
  REQUIRE(verdicts.comparisons.size() == 1);
  const Comparison& one = verdicts.comparisons[0];
  CHECK(one.pairs == 5);
  CHECK(one.verdict == Verdict::better);
  CHECK(one.speed_ratio == Approx(1.111).margin(0.001));
  CHECK(one.interval->low > 1.1);
  CHECK(one.interval->high < 1.12);
  REQUIRE(verdicts.paired_arms.size() == 1);
  CHECK(verdicts.floor_of(one)->ratio < 1.002);
  CHECK(verdicts.floors[0]->ratio > 1.2); // between processes
}

TEST_CASE("a drift within processes is no difference between the default's two arms") {
  // The later one is 10% slower in each process.
  auto results = in_process_results({{1000, 1100, 1050},
                                     {1000, 1101, 1049},
                                     {1001, 1100, 1051},
                                     {1000, 1099, 1050},
                                     {999, 1100, 1050},
                                     {1000, 1100, 1050}});
  auto verdicts = judge(results);

  REQUIRE(verdicts.paired_arms.size() == 1);
  CHECK(verdicts.paired_arms[0].test.ratio == Approx(1.0).margin(0.001));
  CHECK(verdicts.comparisons[0].verdict == Verdict::no_difference);
}

TEST_CASE("pairs need five processes, and only those count that measured both") {
  std::vector<InProcess> four(4, {1000, 1001, 500});
  auto few = in_process_results(four);
  auto verdicts = judge(few);
  CHECK(verdicts.comparisons[0].verdict == Verdict::not_decided);
  CHECK(verdicts.tested == 0);

  RunBuilder run(1);
  model::Cell plain = make_cell("broadcast", 1000), ring = plain;
  ring.settings = {{"algorithm", "ring"}};
  for (int i = 0; i < 6; ++i) {
    auto trial = run.trial();
    if (i != 2)
      trial.cell(plain, make_record(1, 1000 + i)).cell(plain, make_record(1, 1001 + i));
    trial.cell(ring, make_record(1, i == 2 ? 9000 : 900 + i));
  }
  auto results = setting_results(run);
  auto judged = judge(results);
  CHECK(judged.comparisons[0].pairs == 5);
  CHECK(judged.comparisons[0].speed_ratio == Approx(1.11).margin(0.01));
  CHECK(judged.comparisons[0].verdict == Verdict::better);
}

TEST_CASE("an in-process setting of another process setting is compared across processes") {
  RunBuilder run(1);
  model::Cell plain = make_cell("broadcast", 1000), ring = plain;
  ring.settings = {{"algorithm", "ring"}};
  for (int i = 0; i < 10; ++i)
    run.trial().cell(plain, make_record(1, 1000 + i));
  for (int i = 0; i < 5; ++i)
    run.trial({{"A", "1"}})
        .cell(plain, make_record(1, 900 + i))
        .cell(ring, make_record(1, 800 + i));
  auto results = setting_results(run);
  auto verdicts = judge(results);

  REQUIRE(verdicts.comparisons.size() == 2);
  for (const Comparison& one : verdicts.comparisons) {
    CHECK(one.pairs == 0);
    CHECK(one.verdict == Verdict::better);
  }
  CHECK(verdicts.paired_arms.empty());
}
