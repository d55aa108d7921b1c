// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cublaslt_library.h"
#include "nvidia/cupti_library.h"
#include "nvidia/matrix_products.h"
#include "nvidia/nccl_library.h"
#include "nvidia/nvml_library.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace ncclprobe;

namespace {

backend::Options with_library(const std::string& name, const std::string& path) {
  backend::Options options;
  options.libraries.push_back({name, path});
  return options;
}

// The error that opening `Library` with these options throws.
template <typename Library>
base::Error error_of(const backend::Options& options) {
  try {
    Library library(options);
  } catch (const base::Exception& exception) {
    return exception.error();
  }
  FAIL("the library was accepted");
  return {};
}

bool is_there(const std::vector<std::string>& candidates) {
  try {
    nvidia::SharedLibrary library("a library", candidates);
    return true;
  } catch (const base::Exception&) {
    return false;
  }
}

} // namespace

TEST_CASE("NCCL is found, and tells its version and where it was loaded from") {
  if (!is_there(nvidia::library_candidates({}, "nccl", {"libnccl.so.2", "libnccl.so"})))
    NCCLPROBE_SKIP("no libnccl.so.2 on this machine");

  nvidia::NcclLibrary nccl{backend::Options{}};

  CHECK_THAT(nccl.version, ContainsSubstring("2."));
  CHECK_THAT(nccl.library.path(), ContainsSubstring("/libnccl.so"));
  CHECK(nccl.all_reduce != nullptr);
}

TEST_CASE("the version that NCCL tells is the one in its code number") {
  nvidia::NcclLibrary nccl(with_library("nccl", FAKE_NCCL_2_18));

  CHECK(nccl.version == "2.18.3");
}

TEST_CASE("a named library is the one that is loaded") {
  nvidia::NcclLibrary nccl(with_library("nccl", FAKE_NCCL_2_18));

  CHECK(nccl.library.path() == FAKE_NCCL_2_18);
}

TEST_CASE("functions that came with a later NCCL are null in an earlier one") {
  nvidia::NcclLibrary nccl(with_library("nccl", FAKE_NCCL_2_18));

  CHECK(nccl.all_to_all == nullptr);
  CHECK(nccl.gather == nullptr);
  CHECK(nccl.scatter == nullptr);
  CHECK_FALSE(nccl.registers_memory());
}

TEST_CASE("an error names the function as NCCL does") {
  nvidia::NcclLibrary nccl(with_library("nccl", FAKE_NCCL_2_18));
  auto words_for = [&](const char* call) -> std::string {
    try {
      nvidia::raise_nccl(nccl, ncclInvalidUsage, call, "here.cpp", 7);
    } catch (const base::Exception& error) {
      return error.what();
    }
  };

  CHECK_THAT(words_for("comm_init_rank(&comm)"),
             ContainsSubstring("ncclCommInitRank(&comm) failed"));
  CHECK_THAT(words_for("some work (ncclSend)"), ContainsSubstring(" some work (ncclSend) failed"));
}

TEST_CASE("an NCCL that is too old is unsupported, with its version and path") {
  base::Error error = error_of<nvidia::NcclLibrary>(with_library("nccl", FAKE_NCCL_2_7));

  CHECK(error.code == base::Errc::unsupported);
  CHECK_THAT(error.message, ContainsSubstring("2.7.8"));
  CHECK_THAT(error.message, ContainsSubstring(FAKE_NCCL_2_7));
}

TEST_CASE("a named library that is not there is unsupported, with its path") {
  base::Error error =
      error_of<nvidia::NcclLibrary>(with_library("nccl", "/nonexistent/libnccl.so.2"));

  CHECK(error.code == base::Errc::unsupported);
  CHECK_THAT(error.message, ContainsSubstring("/nonexistent/libnccl.so.2"));
}

TEST_CASE("a named file that is no library is unsupported, with the loader's words") {
  base::Error error = error_of<nvidia::NcclLibrary>(
      with_library("nccl", support::source_dir() + "/CMakeLists.txt"));

  CHECK(error.code == base::Errc::unsupported);
  CHECK_THAT(error.message,
             ContainsSubstring("invalid ELF header") || ContainsSubstring("file too short"));
}

TEST_CASE("a library without a function names the function and the file") {
  base::Error error = error_of<nvidia::NcclLibrary>(with_library("nccl", "libm.so.6"));

  CHECK(error.code == base::Errc::unsupported);
  CHECK_THAT(error.message, ContainsSubstring("ncclGetVersion"));
  CHECK_THAT(error.message, ContainsSubstring("/libm.so.6"));
}

TEST_CASE("every table names what it misses") {
  CHECK_THAT(error_of<nvidia::NvmlLibrary>(with_library("nvml", "libm.so.6")).message,
             ContainsSubstring("nvmlInit_v2"));
  CHECK_THAT(error_of<nvidia::CuptiLibrary>(with_library("cupti", "libm.so.6")).message,
             ContainsSubstring("cuptiGetVersion"));
  CHECK_THAT(error_of<nvidia::CublasLtLibrary>(with_library("cublaslt", "libm.so.6")).message,
             ContainsSubstring("cublasLtGetVersion"));
}

TEST_CASE("a named library is the only candidate") {
  CHECK(nvidia::library_candidates(with_library("nccl", "/x/libnccl.so"), "nccl",
                                   {"libnccl.so.2"}) == std::vector<std::string>{"/x/libnccl.so"});
}

TEST_CASE("the loader's search comes before the folders of CUDA_HOME") {
  backend::Options options;
  options.environment["CUDA_HOME"] = FAKE_CUDA_HOME;

  std::vector<std::string> candidates = nvidia::library_candidates(options, "nccl", {FAKE_SONAME});

  REQUIRE(candidates.size() >= 2);
  CHECK(candidates[0] == FAKE_SONAME);
  CHECK(candidates[1] == std::string(FAKE_CUDA_HOME "/lib/") + FAKE_SONAME);
}

TEST_CASE("a missing cuBLASLt says where to get it and how to name it") {
  base::Error error = error_of<nvidia::CublasLtLibrary>(with_library("cublaslt", "/nowhere/x.so"));

  CHECK(error.code == base::Errc::unsupported);
  CHECK_THAT(error.text(), ContainsSubstring("nvidia-cublas"));
  CHECK_THAT(error.text(), ContainsSubstring("--library cublaslt="));
}

TEST_CASE("a product's remark names the dimensions that are no multiple of 16 bytes") {
  using model::DataType;
  using model::GemmLayout;
  using model::GemmMath;
  struct NoBuffer : backend::Buffer {
    std::uint64_t size_bytes() const override { return 0; }
    void poison_bytes(std::uint64_t, std::uint64_t) override {}
    backend::Mismatch compare_poison(std::uint64_t, std::uint64_t) override { return {}; }
    void fill(std::uint64_t, DataType, const model::Pattern&, int, std::uint64_t) override {}
    backend::Mismatch compare(std::uint64_t, DataType, const model::Pattern&,
                              const model::Expectation&) override {
      return {};
    }
    void read(std::uint64_t, std::span<std::byte>) override {}
    void write(std::uint64_t, std::span<const std::byte>) override {}
  } none;
  auto remark = [&](std::uint64_t m, std::uint64_t n, std::uint64_t k, DataType type,
                    GemmLayout layout, GemmMath math = GemmMath::full) {
    return nvidia::alignment_remark({{none}, {none}, {none}, m, n, k, 1, type, layout, math});
  };

  CHECK_THAT(remark(50257, 1024, 768, DataType::bf16, GemmLayout::tn),
             ContainsSubstring("m=50257 is not a multiple of 8: "));
  CHECK_THAT(remark(50257, 1024, 767, DataType::f16, GemmLayout::tn),
             ContainsSubstring("m=50257, k=767 is not a multiple of 8: "));
  CHECK_THAT(remark(768, 1022, 768, DataType::f32, GemmLayout::nt, GemmMath::tf32),
             ContainsSubstring("n=1022 is not a multiple of 4: "));
  CHECK(remark(768, 1022, 768, DataType::bf16, GemmLayout::tn).empty());  // n is not read along
  CHECK(remark(50257, 1023, 767, DataType::f32, GemmLayout::nn).empty()); // no tensor cores
  CHECK(remark(768, 1024, 767, DataType::bf16, GemmLayout::nt).empty());
}

TEST_CASE("a library beside CUDA_HOME is found") {
  backend::Options options;
  options.environment["CUDA_HOME"] = FAKE_CUDA_HOME;

  nvidia::SharedLibrary library("a library",
                                nvidia::library_candidates(options, "nccl", {FAKE_SONAME}));

  CHECK(library.path() == std::string(FAKE_CUDA_HOME "/lib/") + FAKE_SONAME);
}
