// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/cuda_tables.h"
#include "knowledge/document.h"
#include "knowledge/gpu_models.h"
#include "knowledge/health_codes.h"
#include "knowledge/measured.h"
#include "knowledge/nccl_tables.h"
#include "knowledge/pytorch_wheels.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::knowledge {

TEST_CASE("every fact names a source that is in the table or is an address") {
  auto check = [](const std::string& owner, const std::vector<std::string>& keys) {
    INFO(owner);
    CHECK_FALSE(keys.empty());
    for (const std::string& key : keys) {
      INFO(key);
      bool in_table = std::any_of(sources().begin(), sources().end(),
                                  [&](const Source& one) { return one.key == key; });
      CHECK((in_table || key.starts_with("https://")));
      CHECK_FALSE(source_text(key).empty());
    }
  };
  for (const GpuModel& one : gpu_models())
    check(one.name, one.sources);
  for (const CudaTarget& one : cuda_targets())
    check(one.target.sm(), one.sources);
  for (const PytorchWheel& one : pytorch_wheels())
    check(one.name(), one.sources);
  for (const FeatureChain& one : feature_chains())
    check(one.feature, one.sources);
  for (const Xid& one : xids())
    check(one.mnemonic, one.sources);
  check("curves", reference_curve_sources());
}

TEST_CASE("the tables are dated") {
  CHECK(tables_date().size() == 10);
  CHECK(tables_date().starts_with("20"));
}

TEST_CASE("every reference figure names a model that is known") {
  for (const ReferenceFigure& one : reference_figures()) {
    INFO(one.gpu << " " << one.kind);
    CHECK_FALSE(find_gpu_models(one.gpu).empty());
    CHECK(one.low_gb_per_s <= one.high_gb_per_s);
    CHECK(one.source.starts_with("https://"));
  }
  // What we measured ourselves says so.
  CHECK(std::any_of(reference_figures().begin(), reference_figures().end(),
                    [](const auto& one) { return one.measured_by.starts_with("ncclprobe, "); }));
  for (const ReferenceCurve& one : reference_curves()) {
    INFO(one.gpu);
    CHECK_FALSE(find_gpu_models(one.gpu).empty());
    CHECK(std::is_sorted(one.points.begin(), one.points.end(),
                         [](const auto& a, const auto& b) { return a.bytes < b.bytes; }));
  }
}

TEST_CASE("the weak-interconnect trap is in the measured curves") {
  auto large = [](int gpus) {
    for (const ReferenceCurve& one : reference_curves())
      if (one.gpu == "NVIDIA L40S" && one.collective == "all_reduce" && one.gpus == gpus)
        return one.points.back().busbw_gb_per_s;
    return 0.0;
  };

  CHECK(large(8) / large(2) == Approx(0.072).margin(0.001));
}

TEST_CASE("toolkits are listed oldest first, and 12.1 came with driver 530.30.02") {
  CHECK(std::is_sorted(cuda_toolkits().begin(), cuda_toolkits().end(),
                       [](const Toolkit& a, const Toolkit& b) { return a.version < b.version; }));
  CHECK(full_driver({{12, 1}})->text() == "530.30.02");
  CHECK(minor_compatibility_driver(12)->text() == "525.60.13");
  CHECK_FALSE(minor_compatibility_driver(10).has_value());
}

TEST_CASE("clock reasons and Xids can be read") {
  CHECK(clock_event_reasons().size() == 9);
  CHECK(xid(79)->mnemonic == "FALLEN_OFF_BUS");
  CHECK(xid(1) == nullptr);
}

TEST_CASE("a theme that does not exist is a defect") {
  CHECK_THROWS_AS(section("none", "any"), std::logic_error);
}

} // namespace ncclprobe::knowledge
