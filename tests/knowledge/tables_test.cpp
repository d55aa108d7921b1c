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
      const std::string of_page = key.substr(0, key.find('/'));
      bool in_table = std::any_of(sources().begin(), sources().end(),
                                  [&](const Citation& one) { return one.key == of_page; });
      CHECK((in_table || key.starts_with("https://")));
      CHECK_FALSE(source_text(key).empty());
    }
  };
  for (const GpuModel& one : gpu_models())
    check(one.name, one.sources.all());
  for (const CudaTarget& one : cuda_targets())
    check(one.target.sm(), one.sources);
  for (const PytorchWheel& one : pytorch_wheels())
    check(one.name(), one.sources);
  for (const auto& one : section("pytorch", "pypi_wheels"))
    check("PyPI " + one.at("torch").get<std::string>(), one.at("sources"));
  for (const auto& one : section("cuda", "compat_packages"))
    check("cuda-compat " + one.at("cuda").get<std::string>(), one.at("sources"));
  for (const KnownBadNccl& one : known_bad_nccl())
    check(one.text(), one.sources);
  for (const FeatureChain& one : feature_chains())
    check(one.feature, one.sources);
  for (const XidMeaning& one : xids())
    check(one.mnemonic, one.sources);
  check("curves", reference_curve_sources());
}

TEST_CASE("the tables are dated") {
  CHECK(tables_date().size() == 10);
  CHECK(tables_date().starts_with("20"));
}

TEST_CASE("every reference figure names a model that is known") {
  for (const ReferenceFigure& one : reference_figures()) {
    INFO(one.gpu << " " << one.source);
    CHECK_FALSE(find_gpu_models(one.gpu).empty());
    CHECK(one.low_gb_per_s <= one.high_gb_per_s);
    CHECK(one.source.starts_with("https://"));
  }
  // Our own measurements are marked as such.
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

TEST_CASE("old architectures have a last driver branch and a last CUDA") {
  auto last = [](int major, int minor) {
    const CudaTarget* target = cuda_target({major, minor});
    auto text = [](const std::optional<VersionNumber>& version) {
      return version ? version->text() : "none";
    };
    return text(target->last_driver_branch) + ", " + text(target->last_cuda);
  };
  CHECK(last(3, 5) == "470, 11.8");
  CHECK(last(3, 7) == "470, 11.8");
  CHECK(last(5, 2) == "580, 12.9");
  CHECK(last(6, 1) == "580, 12.9");
  CHECK(last(7, 0) == "580, 12.9");
  CHECK(last(7, 2) == "none, 12.9"); // its drivers come with JetPack
  CHECK(last(7, 5) == "none, none");
}

TEST_CASE("cuda-compat packages are for certain driver branches") {
  CHECK(compat_driver_branches({{12, 1}}) == std::vector<int>{470, 525});
  CHECK(compat_driver_branches({{12, 9}}) == std::vector<int>{535, 570});
  CHECK(compat_driver_branches({{12, 9, 1}}) == compat_driver_branches({{12, 9}}));
  CHECK(compat_driver_branches({{11, 4}}).empty()); // runs on branch 450 and newer without
}

TEST_CASE("releases of NCCL with known faults are told apart") {
  auto faults = [](const char* version) {
    std::vector<std::string> all;
    for (const KnownBadNccl& one : known_bad_nccl())
      if (one.concerns(base::value_or_throw(parse_version(version))))
        all.push_back(one.text());
    return all;
  };
  REQUIRE(faults("2.14.3").size() == 2);
  CHECK(faults("2.14.3").front() == "NCCL up to 2.15.4 can hang: ring all-reduce of 2 GPUs with "
                                    "LL128; take NCCL 2.15.5, or NCCL_PROTO=^LL128");
  CHECK(faults("2.15.5").empty());
  CHECK(faults("2.18.1").size() == 1);
  CHECK(faults("2.18.3").empty());
  CHECK(faults("2.28.6").size() == 2);
  CHECK(faults("2.28.9").empty());
}

TEST_CASE("PyPI has one wheel of a release for each CPU") {
  CHECK(pypi_tag({{2, 8, 0}}, CpuKind::x86_64) == "cu128");
  CHECK(pypi_tag({{2, 8}}, CpuKind::aarch64) == "cpu");
  CHECK(pypi_tag({{2, 11}}, CpuKind::aarch64) == "cu130");
  CHECK_FALSE(pypi_tag({{2, 3}}, CpuKind::x86_64)); // not sourced
  CHECK(last_arm_pypi_without_cuda() == VersionNumber{{2, 10}});
  // Its version is in the table of wheels.
  for (const auto& one : section("pytorch", "pypi_wheels"))
    for (CpuKind cpu : {CpuKind::x86_64, CpuKind::aarch64}) {
      auto torch = base::value_or_throw(parse_version(one.at("torch").get<std::string>()));
      INFO(torch.text());
      CHECK((pypi_tag(torch, cpu) == "cpu" || pytorch_wheel(torch, *pypi_tag(torch, cpu), cpu)));
    }
}

TEST_CASE("Arm hosts have wheels of their own") {
  REQUIRE(pytorch_wheel({{2, 8}}, "cu129", CpuKind::aarch64) != nullptr);
  CHECK(pytorch_wheel({{2, 8}}, "cu128", CpuKind::aarch64) == nullptr);
  CHECK(pytorch_wheel({{2, 8}}, "cu128") != nullptr);
}

TEST_CASE("Xids can be read") {
  CHECK(xid(79)->mnemonic == "FALLEN_OFF_THE_BUS");
  CHECK(xid(100000) == nullptr);
}

TEST_CASE("a theme that does not exist is a defect") {
  CHECK_THROWS_AS(section("none", "any"), std::logic_error);
}

} // namespace ncclprobe::knowledge
