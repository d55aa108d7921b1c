// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/loaded_cupti.h"

#include "support/catch.h"

using namespace ncclprobe::plugin;

TEST_CASE("the CUPTI of the process's own CUDA is the first that is tried") {
  using Files = std::vector<std::string>;
  const std::string pip = "/venv/nvidia/cuda_runtime/lib/libcudart.so.12";
  const Files by_pip = cupti_candidates({"/lib/libc.so.6", pip}, 13);
  REQUIRE(by_pip.size() > 3);
  CHECK(by_pip[0] == "/venv/nvidia/cuda_runtime/lib/libcupti.so.12");
  CHECK(by_pip[2] == "/venv/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12");
  CHECK(by_pip[3] == "libcupti.so.12");
  // Each release of CUDA 11 has a name of its own.
  CHECK(cupti_candidates({"/opt/cuda/lib64/libcudart.so.11.8.89"}, 12)[1] ==
        "/opt/cuda/lib64/../extras/CUPTI/lib64/libcupti.so.11.8");
  // A static runtime: no newer than the driver.
  const Files by_driver = cupti_candidates({"/lib/libcuda.so.1"}, 13);
  CHECK(Files(by_driver.begin(), by_driver.begin() + 3) ==
        Files{"libcupti.so.13", "libcupti.so.12", "libcupti.so"});
  CHECK(cupti_candidates({}, 0).front() == "libcupti.so");
}

TEST_CASE("who uses CUPTI is told as far as it can be known") {
  CHECK(probable_cupti_user({"/opt/nsight/libToolsInjection64.so"}, nullptr) ==
        "NVIDIA Nsight Systems");
  CHECK(probable_cupti_user({}, "/opt/tool/libinjected.so") == "/opt/tool/libinjected.so");
  CHECK(probable_cupti_user({}, "/job/.plugin/libncclprobe-profiler.so").empty());
  CHECK_THAT(probable_cupti_user({"/venv/torch/lib/libtorch_cpu.so"}, nullptr),
             ContainsSubstring("torch.profiler"));
}
