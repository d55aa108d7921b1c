// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_builder.h"
#include "analysis/binary/device_code.h"
#include "base/mapped_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <cstdlib>
#include <fstream>

namespace ncclprobe::analysis {
namespace {

std::string names(const std::vector<knowledge::CodeTarget>& targets) {
  std::string all;
  for (const knowledge::CodeTarget& one : targets)
    all += (all.empty() ? "" : " ") + one.sm();
  return all;
}

std::string example_sections() {
  return fat_binary(
      code_entry(CodeKind::cubin, 80) + code_entry(CodeKind::cubin, 90, k_exact_code) +
      code_entry(CodeKind::cubin, 100, k_family_code) + code_entry(CodeKind::ptx, 120));
}

} // namespace

TEST_CASE("machine code and PTX of a shared object are listed with their reach") {
  auto code = read_device_code(elf_file({{".text", "abc"}, {".nv_fatbin", example_sections()}}));

  REQUIRE(code);
  CHECK(names(code->cubin_targets()) == "sm_80 sm_90a sm_100f");
  CHECK(names(code->ptx_targets()) == "sm_120");
  CHECK(code->ptx.begin()->second.newest_isa.text() == "9.0");
  CHECK(code->containers == 1);
  CHECK(code->problems.empty());
}

TEST_CASE("an NCCL tells its version and the CUDA that it was built with") {
  auto code = read_device_code(elf_file(
      {{".rodata", std::string("NCCL version mismatch with\0", 27) +
                       "x NCCL version 2.28.9+cuda13.0" + std::string(1, '\0') + "more"}}));
  REQUIRE(code);
  CHECK(code->nccl == "2.28.9");
  CHECK(code->nccl_cuda == "13.0");

  for (const char* text : {"NCCL version ", "NCCL version 2.28.9", "NCCL version +cuda13.0"}) {
    auto other = read_device_code(elf_file({{".rodata", text}}));
    REQUIRE(other);
    CHECK(other->nccl.empty());
  }
}

TEST_CASE("several fat binaries with padding between them are all read") {
  std::string section = fat_binary(code_entry(CodeKind::cubin, 75, 0, 44)) + std::string(12, '\0') +
                        fat_binary(code_entry(CodeKind::cubin, 75)) +
                        fat_binary(code_entry(CodeKind::link_time, 90));
  auto code = read_device_code(elf_file({{"__nv_relfatbin", section}}));

  REQUIRE(code);
  CHECK(code->containers == 3);
  CHECK(code->cubins.begin()->second.entries == 2);
  CHECK(code->link_time.size() == 1);
}

TEST_CASE("fat binaries that stand in other data are found") {
  std::string data = "1234" + fat_binary(code_entry(CodeKind::cubin, 89)) + "tail";
  auto code = read_device_code(elf_file({{".ldata", data}}));

  REQUIRE(code);
  CHECK(names(code->cubin_targets()) == "sm_89");
}

TEST_CASE("archives and bare fat binaries are read") {
  std::string one = elf_file({{".nv_fatbin", fat_binary(code_entry(CodeKind::cubin, 80))}});
  std::string two = elf_file({{".nv_fatbin", fat_binary(code_entry(CodeKind::cubin, 90))}}) + "x";
  auto archive = read_device_code(archive_file({"symbols", one, two, one}));

  REQUIRE(archive);
  CHECK(names(archive->cubin_targets()) == "sm_80 sm_90");
  CHECK(archive->format == "archive of 3 ELF files");
  CHECK(names(read_device_code(example_sections())->ptx_targets()) == "sm_120");
}

TEST_CASE("a file without GPU code is no error") {
  auto code = read_device_code(elf_file({{".text", "abc"}}));

  REQUIRE(code);
  CHECK(code->empty());
}

TEST_CASE("what is no such file is refused by name") {
  CHECK_THAT(read_device_code("hello").error().message, ContainsSubstring("neither an ELF"));
  CHECK_THAT(read_device_code("").error().message, ContainsSubstring("neither an ELF"));
  CHECK_THAT(read_device_code("!<thin>\n").error().message, ContainsSubstring("thin archive"));
  CHECK_THAT(read_device_code("\x7f"
                              "ELF")
                 .error()
                 .message,
             ContainsSubstring("within its header"));
}

TEST_CASE("a file cut short anywhere is read as far as it goes, and says so") {
  std::string whole = elf_file({{".nv_fatbin", example_sections()}, {".data", "0123456789"}});
  std::string archive = archive_file({whole, whole});
  for (const std::string& file : {whole, archive, example_sections()})
    for (std::size_t size = 0; size < file.size(); size += 3) {
      auto code = read_device_code(std::string_view(file).substr(0, size));
      CHECK((!code || code->cubins.size() <= 3));
    }
  auto cut = read_device_code(std::string_view(archive).substr(0, archive.size() - 100));
  REQUIRE(cut);
  CHECK_FALSE(cut->problems.empty());
}

TEST_CASE("any changed byte is survived") {
  std::string whole = elf_file({{".nv_fatbin", example_sections()}});
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (char value : {'\0', '\x7f', '\xff'}) {
      std::string hostile = whole;
      hostile[at] = value;
      auto code = read_device_code(hostile);
      CHECK((!code || code->problems.size() <= 20));
    }
}

TEST_CASE("what nvcc was told to build is what is read") {
  support::ScratchFolder folder;
  std::string source = (folder.path() / "k.cu").string(), object = (folder.path() / "k.o").string();
  std::ofstream(source) << "__global__ void k(int* p) { *p = 1; }\n";
  std::string command = "PATH=$PATH:/usr/local/cuda/bin nvcc -c " + source + " -o " + object +
                        " -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a"
                        " -gencode arch=compute_90,code=compute_90 >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0)
    NCCLPROBE_SKIP("no nvcc that builds for sm_80 and sm_90a");
  auto file = base::MappedFile::open(object);
  REQUIRE(file);
  auto code = read_device_code(file->bytes());

  REQUIRE(code);
  CHECK(names(code->cubin_targets()) == "sm_80 sm_90a");
  CHECK(names(code->ptx_targets()) == "sm_90");
  CHECK(code->problems.empty());
}

TEST_CASE("the code that cuFFT keeps in its data is found") {
  auto file = base::MappedFile::open("/usr/local/cuda/lib/libcufft.so");
  if (!file)
    NCCLPROBE_SKIP("no libcufft.so here");
  auto code = read_device_code(file->bytes());

  REQUIRE(code);
  CHECK(code->containers > 100);
  CHECK(code->cubins.size() >= 2);
}

TEST_CASE("an installed NCCL has code for several GPUs") {
  for (const char* path : {"/usr/local/cuda/lib64/libnccl.so.2", "/usr/local/cuda/lib/libnccl.so.2",
                           "/usr/lib/x86_64-linux-gnu/libnccl.so.2"})
    if (auto file = base::MappedFile::open(path)) {
      auto code = read_device_code(file->bytes());
      REQUIRE(code);
      CHECK(code->cubins.size() >= 2);
      CHECK(code->ptx.size() >= 1);
      CHECK(code->problems.empty());
      CHECK(code->nccl.starts_with("2."));
      CHECK_FALSE(code->nccl_cuda.empty());
      return;
    }
  NCCLPROBE_SKIP("no libnccl.so.2 here");
}

} // namespace ncclprobe::analysis
