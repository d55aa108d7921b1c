// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "analysis/doctor/doctor_report.h"
#include "analysis/doctor/installed_libraries.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace analysis::doctor;
using namespace test_doctor;

namespace {

const std::string k_loaded = "/usr/lib/libnccl.so.2.28.3"; // of the patient

Case with_installed(std::vector<model::InstalledLibrary> installed) {
  Case one = healthy_case();
  one.surveys[0].host->installed = std::move(installed);
  return one;
}

} // namespace

TEST_CASE("what is loaded is not told of as installed, by whatever rank of the host it is") {
  Case one =
      with_installed({{k_loaded, "libnccl.so.2", "2.28.3", "loader"},
                      {"/opt/a/libcudart.so.12.4.127", "libcudart.so.12", "12.4.127", "loader"}});
  one.surveys[1].process.libraries.push_back(
      {"/opt/a/libcudart.so.12.4.127", "libcudart.so.12", "", false});

  CHECK(not_loaded(one).empty());
  CHECK(worst(one, "D06") == CheckStatus::ok);
}

TEST_CASE("what is installed but not loaded is information, and stands in text and JSON") {
  Case one = with_installed(
      {{"/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127", "libcudart.so.12", "12.4.127",
        "toolkit"},
       {"/usr/local/cuda-14.0/lib64/libcudart.so.14", "libcudart.so.14", "", "toolkit"}});

  CHECK(not_loaded(one).size() == 2);
  CHECK(worst(one, "D06") == CheckStatus::info);
  CHECK(what(one, "D06").kind == "installed_not_loaded");
  const analysis::Report report = doctor_report(one, examine(one));
  CHECK_THAT(analysis::write_text(report),
             ContainsSubstring("installed, not loaded") &&
                 ContainsSubstring("/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127"));
  CHECK_THAT(analysis::written(report, analysis::Format::json),
             ContainsSubstring("\"installed_not_loaded\""));
}

TEST_CASE("a runtime that programs would get and that the driver cannot run is a warning") {
  model::InstalledLibrary runtime{"/venv/lib/libcudart.so.13", "libcudart.so.13", "13.0.48",
                                  "VIRTUAL_ENV"};
  Case one = with_installed({runtime});
  CHECK(worst(one, "D06") == CheckStatus::info); // the patient's driver knows CUDA 13.0

  one.surveys[0].inventory.libraries[0].version = "535.129.03 (CUDA 12.2)";
  CHECK(worst(one, "D06") == CheckStatus::warn);
  CHECK(what(one, "D06").kind == "installed_runtime_too_new");
  CHECK(test_doctor::value(what(one, "D06"), "driver") == "535.129.03");
  CHECK_THAT(test_doctor::value(what(one, "D06"), "remedies"), ContainsSubstring("580.65.06"));
  for (model::CudaDevice& gpu : one.surveys[0].inventory.gpus)
    gpu.compute_capability = "7.0"; // which CUDA 13 does not serve
  CHECK_THAT(test_doctor::value(what(one, "D06"), "remedies"),
             ContainsSubstring("no driver helps"));

  one.surveys[0].host->installed[0].found_by = "toolkit"; // nobody loads from there unasked
  CHECK(worst(one, "D06") == CheckStatus::info);
}

TEST_CASE("an NCCL that LD_LIBRARY_PATH names beside the loaded one is a warning") {
  Case one =
      with_installed({{"/opt/own/libnccl.so.2.21.5", "libnccl.so.2", "2.21.5", "LD_LIBRARY_PATH"}});

  CHECK(worst(one, "D06") == CheckStatus::warn);
  CHECK(test_doctor::value(what(one, "D06"), "path") == "/opt/own/libnccl.so.2.21.5");

  one.surveys[0].host->installed[0].version = "2.28.3"; // a copy
  CHECK(worst(one, "D06") == CheckStatus::info);
}

TEST_CASE("another NCCL behind the loaded one on LD_LIBRARY_PATH bites nobody") {
  Case one =
      with_installed({{k_loaded, "libnccl.so.2", "2.28.3", "LD_LIBRARY_PATH"},
                      {"/opt/own/libnccl.so.2.21.5", "libnccl.so.2", "2.21.5", "LD_LIBRARY_PATH"}});

  CHECK(worst(one, "D06") == CheckStatus::info);
}

TEST_CASE("the NCCL of a Python environment is told of with the way to measure it") {
  Case one = with_installed({{"/venv/lib/libnccl.so.2", "libnccl.so.2", "2.27.3", "VIRTUAL_ENV"}});

  auto findings = found(one, "D06");
  CHECK(worst(one, "D06") == CheckStatus::info);
  CHECK(std::any_of(findings.begin(), findings.end(), [](const CheckResult& finding) {
    return test_doctor::value(finding.what, "path") == "/venv/lib/libnccl.so.2";
  }));
}

TEST_CASE("what is installed survives being stored") {
  Case one = with_installed({{"/opt/libnccl.so.2.21.5", "libnccl.so.2", "2.21.5", "loader"}});

  CHECK(base::value_or_throw(read_case(write_case(one))) == one);
}
