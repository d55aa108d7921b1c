// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/in_process_check.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::tune;
using support::RunBuilder;

namespace {

constexpr std::uint64_t k_one_mib = 1 << 20;
constexpr const char* k_with_tuner = "NCCL_TUNER_PLUGIN=tuner.so";
const std::vector<model::Setting> k_in_process{
    {"algorithm", "NVLSTree"}, {"protocol", "Simple"}, {"channels", "16"}};

// Five processes of each form, which differ by up to 1%.
RunBuilder run_with(double fresh_over_in_process) {
  RunBuilder run(2);
  for (int process = 0; process < 5; ++process) {
    const double scatter = 1 + 0.0025 * (process - 2);
    auto time_ns = [&](double ratio) {
      return static_cast<std::int64_t>(100'000 * scatter * ratio);
    };
    model::Cell cell = support::make_cell("all_reduce", k_one_mib);
    auto in_process = run.trial();
    in_process.cell("all_reduce", k_one_mib, time_ns(3)); // the default in the same process
    cell.settings = k_in_process;
    in_process.cell(cell, support::make_record(2, time_ns(1)));
    run.trial({{"NCCL_TUNER_PLUGIN", "tuner.so"}})
        .cell("all_reduce", k_one_mib, time_ns(fresh_over_in_process));
  }
  return run;
}

InProcessCheck checked(double fresh_over_in_process, const std::vector<Use>& uses,
                       double floor = 1.01, const std::set<int>& without = {}) {
  const model::CellLabel label = support::make_cell("all_reduce", k_one_mib).label;
  const std::vector<InProcessTarget> targets{
      {.target = 0, .cells = {label, label}, .settings = k_in_process, .floor = floor}};
  const Explanation explanation{.of_default = {}, .of_delivery = {.uses = uses, .times = {}}};
  const auto checks = check_in_process(run_with(fresh_over_in_process), targets, k_with_tuner,
                                       {explanation}, without);
  REQUIRE(checks.size() == 1);
  return checks.front();
}

const Use k_as_asked{"NVLS_TREE", "SIMPLE", 16};

} // namespace

TEST_CASE("settings are as fast in fresh processes as within one, up to the noise") {
  const InProcessCheck same = checked(1, {k_as_asked});
  REQUIRE(same.ratio);
  CHECK(same.ratio->ratio == Approx(1).epsilon(1e-3));
  CHECK(same.in_process_processes == 5);
  CHECK(same.fresh_processes == 5);
  CHECK_FALSE(same.differs);
  CHECK_FALSE(same.reason);
  CHECK(same.is_logged == true);
  CHECK(checked(1.05, {k_as_asked}).differs);
  CHECK(checked(0.95, {k_as_asked}).differs);
  CHECK_FALSE(checked(1.05, {k_as_asked}, 1.06).differs); // the default differs from itself by more
}

TEST_CASE("a choice that the library did not make is reported, whatever the times are") {
  const InProcessCheck other = checked(1, {{"RING", "SIMPLE", 16}});
  CHECK_FALSE(other.differs);
  CHECK(other.is_logged == false);
  CHECK(in_words(other.reason) ==
        "as delivered, the library's log shows RING SIMPLE 16 channels, which is not NVLSTree");
  const InProcessCheck fewer = checked(1, {{"NVLS_TREE", "SIMPLE", 12}}); // as NCCL may
  CHECK(fewer.is_logged == true);
  CHECK_FALSE(fewer.reason);
  const InProcessCheck silent = checked(1, {});
  CHECK_FALSE(silent.is_logged);
  CHECK_FALSE(silent.reason);
}

TEST_CASE("the reason of a difference is what the library's log shows, if it shows one") {
  auto reason = [](const std::vector<Use>& uses) { return in_words(checked(1.2, uses).reason); };
  CHECK(reason({{"RING", "SIMPLE", 16}}) ==
        "as delivered, the library's log shows RING SIMPLE 16 channels, which is not NVLSTree");
  CHECK(reason({k_as_asked, {"NVLS_TREE", "LL", 16}}) ==
        "as delivered, the library's log shows NVLS_TREE LL 16 channels, which is not Simple");
  CHECK(reason({{"NVLS_TREE", "SIMPLE", 12}}) ==
        "as delivered, the library took 12 channels, and 16 were asked for");
  CHECK(id_of(checked(1.2, {k_as_asked}).reason) == "same_choice");
  CHECK(id_of(checked(1.2, {}).reason) == "no_log");
}

TEST_CASE("nothing is compared with too few processes") {
  const InProcessCheck one = checked(1.2, {}, 1, {1, 3, 5, 7}); // four of the fresh ones
  CHECK_FALSE(one.ratio);
  CHECK(one.fresh_processes == 1);
  CHECK_FALSE(one.differs);
  CHECK_FALSE(one.reason);
}
