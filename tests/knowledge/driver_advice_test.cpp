// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/cuda_tables.h"
#include "knowledge/driver_advice.h"
#include "support/catch.h"

#include <map>
#include <regex>
#include <set>

namespace ncclprobe::knowledge {
namespace {

VersionNumber number_of(const std::string& text) {
  return base::value_or_throw(parse_version(text));
}

DriverAdvice advise(const std::string& driver, const std::string& cuda, ComputeCapability gpu,
                    bool compat_packages = false) {
  GpuLimits limits = gpu_limits({&gpu, 1});
  limits.compat_packages = compat_packages;
  return advise(number_of(driver), number_of(cuda), limits);
}

// The matches of a pattern in a text, by its first group.
std::vector<VersionNumber> versions(const std::string& text, const char* pattern) {
  std::vector<VersionNumber> found;
  static std::map<std::string, std::regex> compiled; // which takes longer than to search
  const std::regex& regex = compiled.try_emplace(pattern, pattern).first->second;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.push_back(number_of((*at)[1]));
  return found;
}

// One driver, GPU and CUDA of the grid.
struct Case {
  VersionNumber driver;
  VersionNumber cuda;
  GpuLimits limits;
};

bool runs(const VersionNumber& driver, const VersionNumber& cuda) {
  const DriverVerdict verdict = judge_driver(driver, cuda).verdict;
  return verdict == DriverVerdict::full || verdict == DriverVerdict::minor_compat;
}

// Advice must help, and must stay within the software that supports the GPU.
void check_remedies(const Case& one, const DriverAdvice& advice) {
  const std::string remedies = remedies_text(advice);
  for (const VersionNumber& driver :
       versions(remedies, "update the driver on the host to ([0-9.]+)")) {
    CHECK(driver > one.driver);
    CHECK(runs(driver, one.cuda));
    CHECK((!one.limits.first_branch || driver.major() >= one.limits.first_branch->major()));
    CHECK((!one.limits.last_branch || driver.major() <= one.limits.last_branch->major()));
    CHECK((!one.limits.last_cuda || one.cuda <= *one.limits.last_cuda));
  }
  for (const VersionNumber& driver : versions(remedies, "([0-9.]+) or later for all features"))
    CHECK(judge_driver(driver, one.cuda).verdict == DriverVerdict::full);
  for (const VersionNumber& cuda : versions(remedies, "use a build for CUDA ([0-9.]+)")) {
    CHECK(runs(one.driver, cuda));
    CHECK((!one.limits.first_cuda || cuda >= *one.limits.first_cuda));
    CHECK((!one.limits.last_cuda || cuda <= *one.limits.last_cuda));
  }
  for (const VersionNumber& cuda : versions(remedies, "([0-9.]+) or older for all features"))
    CHECK(judge_driver(one.driver, cuda).verdict == DriverVerdict::full);
}

// No sentence may deny what another says.
void check_agreement(const Case& one, const DriverAdvice& advice) {
  const std::string remedies = remedies_text(advice);
  const std::string& newest = advice.newest_text;
  std::set<std::string> it_runs;
  const std::string of_driver = newest.substr(0, newest.find(';'));
  for (const VersionNumber& cuda : versions(of_driver, "([0-9]+\\.[0-9]+)"))
    it_runs.insert(cuda.text());
  for (const char* pattern :
       {"use a build for CUDA ([0-9.]+)", "([0-9.]+) or older for all features"})
    for (const VersionNumber& cuda : versions(remedies, pattern))
      CHECK(it_runs.contains(cuda.text()));
  // "needs driver X or newer" and the driver that is advised.
  for (const VersionNumber& least : versions(advice.fit.meaning, "needs driver ([0-9.]+)"))
    for (const VersionNumber& driver :
         versions(remedies, "update the driver on the host to ([0-9.]+)"))
      CHECK((driver == least || driver == one.limits.first_branch));
  for (const VersionNumber& driver : versions(newest, "with all features from driver ([0-9.]+)"))
    CHECK((!one.limits.last_branch || driver.major() <= one.limits.last_branch->major()));
  const bool refuses = remedies.find("helps: ") != std::string::npos;
  CHECK((!refuses || remedies.find("update the driver") == std::string::npos));
}

} // namespace

TEST_CASE("an A800 on driver 470 has three remedies for CUDA 12.1, and one newest CUDA") {
  DriverAdvice advice = advise("470.129.06", "12.1", {8, 0}, true);

  CHECK(advice.newest_text ==
        "the driver runs CUDA up to 11.4, or up to 11.8 with fewer features; the newest "
        "CUDA for these GPUs is 13.4, whose driver is not in the tables");
  CHECK(advice.remedies ==
        std::vector<std::string>{
            "update the driver on the host to 525.60.13 or later (530.30.02 or "
            "later for all features)",
            "use a build for CUDA 11.8 or older (11.4 or older for all features)",
            "install cuda-compat-12-1 and put /usr/local/cuda-12.1/compat first in "
            "LD_LIBRARY_PATH (NVIDIA makes it for data-center GPUs on driver "
            "branch 470)"});
}

TEST_CASE("cuda-compat is advised for data-center GPUs, and for the branches it is made for") {
  auto has_package = [](const DriverAdvice& advice) {
    return remedies_text(advice).find("cuda-compat") != std::string::npos;
  };
  CHECK(has_package(advise("470.129.06", "12.1", {8, 0}, true)));
  CHECK_FALSE(has_package(advise("470.129.06", "12.1", {8, 6}, false))); // a GeForce
  CHECK_FALSE(has_package(advise("510.47.03", "12.1", {8, 0}, true)));
  CHECK_FALSE(has_package(advise("470.129.06", "12.9", {8, 0}, true)));
  // It brings the features that an old driver of the same major lacks, too.
  CHECK(has_package(advise("535.129.03", "12.9", {8, 0}, true)));
  CHECK_FALSE(has_package(advise("580.95.05", "13.0", {8, 0}, true))); // all is there
}

TEST_CASE("no newer driver is advised where it would not know the GPU") {
  // Kepler: branch 470 and CUDA 11.8 are the last.
  DriverAdvice kepler = advise("450.80.02", "12.1", {3, 7});
  CHECK(remedies_text(kepler) ==
        "use a build for CUDA 11.8 or older (11.0 or older for all features) "
        "(no driver helps: CUDA 11.8 is the last that supports these GPUs)");
  // Volta: 580 is the last branch, and has all of CUDA 12.9.
  CHECK_THAT(remedies_text(advise("535.129.03", "12.9", {7, 0})),
             ContainsSubstring("update the driver on the host to 575.51.03 or later"));
  CHECK_THAT(remedies_text(advise("470.256.02", "11.8", {3, 7})),
             ContainsSubstring("no newer driver helps: branch 470 is the last for these GPUs") &&
                 !ContainsSubstring("update the driver"));
}

TEST_CASE("a driver that does not know the GPU runs nothing on it") {
  DriverAdvice blackwell = advise("535.129.03", "12.8", {12, 0});
  CHECK_THAT(blackwell.newest_text, ContainsSubstring("runs no CUDA that supports these GPUs"));
  CHECK_THAT(remedies_text(blackwell), ContainsSubstring("update the driver on the host to 570") &&
                                           !ContainsSubstring("use a build"));
}

TEST_CASE("where all is well nothing is advised") {
  DriverAdvice advice = advise("580.95.05", "13.0", {9, 0}, true);

  CHECK(advice.remedies.empty());
  CHECK(remedies_text(advice).empty());
}

TEST_CASE("of GPUs of several kinds the narrowest limits count") {
  const ComputeCapability k_both[] = {{7, 0}, {12, 0}};
  GpuLimits limits = gpu_limits(k_both);

  CHECK(limits.first_cuda == number_of("12.8"));
  CHECK(limits.last_cuda == number_of("12.9"));
  CHECK(limits.first_branch == number_of("570"));
  CHECK(limits.last_branch == number_of("580"));
}

TEST_CASE("over all drivers, GPUs and CUDA versions no advice denies itself") {
  const char* k_drivers[] = {"390.157",    "418.226.00", "440.33.01",  "450.80.02",  "460.106.00",
                             "470.129.06", "470.256.02", "495.44",     "510.47.03",  "515.105.01",
                             "520.61.05",  "525.60.13",  "525.147.05", "530.30.02",  "535.54.03",
                             "535.288.01", "545.23.06",  "550.54.14",  "550.163.01", "560.35.05",
                             "570.26",     "570.211.01", "575.51.03",  "580.65.06",  "580.126.09",
                             "590.44.01",  "595.71.05",  "610.43.02"};
  std::set<std::string> cudas;
  for (const Toolkit& toolkit : cuda_toolkits())
    cudas.insert(toolkit.version.text());
  int with_advice = 0, pair = 0;
  for (const char* driver : k_drivers)
    for (const CudaTarget& gpu : cuda_targets())
      for (const std::string& cuda : cudas) {
        if (pair++ % 7 != 0) // each driver and GPU meets every seventh version
          continue;
        INFO("driver " << driver << ", " << gpu.target.sm() << ", CUDA " << cuda);
        GpuLimits limits = gpu_limits({&gpu.target.capability, 1});
        limits.compat_packages = true; // all remedies there are
        const Case one{number_of(driver), number_of(cuda), limits};
        const DriverAdvice advice = advise(one.driver, one.cuda, limits);
        INFO(advice.fit.meaning << "\n" << advice.newest_text << "\n" << remedies_text(advice));
        CHECK(advice.newest_text.find("unknown") == std::string::npos);
        if (advice.fit.verdict == DriverVerdict::full) {
          CHECK(advice.remedies.empty());
          continue;
        }
        with_advice += advice.remedies.empty() ? 0 : 1;
        if (advice.fit.verdict == DriverVerdict::insufficient)
          CHECK_FALSE(remedies_text(advice).empty());
        check_remedies(one, advice);
        check_agreement(one, advice);
      }
  CHECK(with_advice > 650);
}

} // namespace ncclprobe::knowledge
