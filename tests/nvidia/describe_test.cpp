// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cuda_error.h"
#include "nvidia/factory.h"
#include "support/catch.h"

#include <dlfcn.h>

using namespace ncclprobe;

namespace {

model::HostInventory described() {
  model::HostInventory host;
  nvidia::describe(host);
  return host;
}

} // namespace

TEST_CASE("a host either has GPUs or says why the backend cannot be used") {
  model::HostInventory host = described();

  if (host.gpus.empty())
    CHECK_FALSE(host.nvidia_problem.empty());
  else
    CHECK(host.nvidia_problem == "");
}

TEST_CASE("without a driver, the problem is the driver and says so") {
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr)
    NCCLPROBE_SKIP("this host has a driver");

  model::HostInventory host = described();

  CHECK(host.gpus.empty());
  CHECK_THAT(host.nvidia_problem, ContainsSubstring("no CUDA driver (libcuda.so.1) on this host"));
  REQUIRE(host.library("cuda_driver") != nullptr);
  CHECK(host.library("cuda_driver")->version == "");
  CHECK_THAT(host.library("cuda_driver")->problem, ContainsSubstring("libcuda.so.1"));
}

TEST_CASE("the backend can be made exactly where the inventory has no problem with it") {
  model::HostInventory host = described();

  if (host.nvidia_problem.empty()) {
    CHECK(nvidia::make_backend({})->name() == "nvidia");
    return;
  }
  try {
    (void)nvidia::make_backend({});
    FAIL("a backend was made although: " << host.nvidia_problem);
  } catch (const base::Exception& error) {
    CHECK(error.what() == host.nvidia_problem);
  }
}

TEST_CASE("every library is listed, with a version or with a problem") {
  model::HostInventory host = described();

  for (const char* name : {"cuda_driver", "cuda_runtime", "nccl", "nvml", "cupti", "cublaslt"}) {
    INFO(name);
    const model::Library* library = host.library(name);
    REQUIRE(library != nullptr);
    CHECK(library->version.empty() == !library->problem.empty());
    CHECK(library->path.empty() == !library->problem.empty());
  }
}

TEST_CASE(
    "a library that was named and is not there is the backend's problem where nothing else is") {
  backend::Options options;
  options.libraries.push_back({"nccl", "/nonexistent/libnccl.so.2"});
  model::HostInventory host;

  nvidia::describe(host, options);

  CHECK_THAT(host.library("nccl")->problem, ContainsSubstring("/nonexistent/libnccl.so.2"));
  CHECK_FALSE(host.nvidia_problem.empty());
}

TEST_CASE("the build description tells CUDA's version and the architectures") {
  CHECK_THAT(nvidia::build_description(), ContainsSubstring("CUDA 1") && ContainsSubstring("+PTX"));
}

TEST_CASE("a failed CUDA call throws its text, CUDA's words and the place") {
  try {
    NCCLPROBE_CUDA_CALL(cudaErrorInvalidValue);
    FAIL("did not throw");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::failed);
    CHECK_THAT(error.what(), ContainsSubstring("cudaErrorInvalidValue") &&
                                 ContainsSubstring("invalid argument") &&
                                 ContainsSubstring("[describe_test.cpp:"));
  }
}

TEST_CASE("a GPU without code in this build is unsupported, with the architectures it has") {
  base::Error error = nvidia::cuda_error(cudaErrorNoKernelImageForDevice);

  CHECK(error.code == base::Errc::unsupported);
  CHECK_THAT(error.text(), ContainsSubstring("+PTX") && ContainsSubstring("NCCLPROBE_CUDA_ARCHS"));
}

TEST_CASE("no GPU and too little memory are unavailable, not failures") {
  CHECK(nvidia::cuda_error(cudaErrorNoDevice).code == base::Errc::unavailable);
  CHECK(nvidia::cuda_error(cudaErrorInsufficientDriver).code == base::Errc::unavailable);
  CHECK(nvidia::cuda_error(cudaErrorMemoryAllocation).code == base::Errc::unavailable);
}

namespace {

backend::Options with_nvml(const char* library) {
  backend::Options options;
  options.libraries.push_back({"nvml", library});
  return options;
}

} // namespace

TEST_CASE("where NVML tells all of the links, CUDA is not asked for them") {
  model::HostInventory host;

  auto sources = nvidia::describe(host, with_nvml(FAKE_NVML_ALIKE), nvidia::Cuda::where_needed);

  REQUIRE(sources.size() == 1);
  REQUIRE(host.gpus.size() == sources[0].gpus.size());
  for (std::size_t i = 0; i < host.gpus.size(); ++i) {
    CHECK(host.gpus[i].index == static_cast<int>(i));
    CHECK(host.gpus[i].pci_bus_id == *sources[0].gpus[i].bus_id);
    CHECK(host.gpus[i].uuid == *sources[0].gpus[i].uuid);
  }
  CHECK(host.nvidia_problem == "");
  CHECK(host.library("cuda_runtime") == nullptr);
}

TEST_CASE("CUDA is asked where it may number GPUs in another way than NVML, or knows more") {
  auto asks_cuda = [](const backend::Options& options) {
    model::HostInventory host;
    nvidia::describe(host, options, nvidia::Cuda::where_needed);
    return host.library("cuda_runtime") != nullptr;
  };
  backend::Options some_visible = with_nvml(FAKE_NVML_ALIKE);
  some_visible.environment["CUDA_VISIBLE_DEVICES"] = "1";

  CHECK(asks_cuda(some_visible));
  CHECK(asks_cuda(with_nvml(FAKE_NVML))); // one GPU in MIG mode, and another says little
  CHECK(asks_cuda(with_nvml(FAKE_NVML_OLD)));
  CHECK(asks_cuda(with_nvml("no_such_library.so")));
}
