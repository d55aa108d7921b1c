// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/mapped_libraries.h"

#include "support/catch.h"
#include "support/file_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace ncclprobe;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("files with executable mappings are listed once, others not") {
  support::FileTree tree;
  tree.file("proc/self/maps", "00400000-00401000 r--p 00000000 08:01 1 /opt/a/libnccl.so.2.28.3\n"
                              "00401000-00402000 r-xp 00001000 08:01 1 /opt/a/libnccl.so.2.28.3\n"
                              "00403000-00404000 r-xp 00001000 08:01 1 /opt/a/libnccl.so.2.28.3\n"
                              "00405000-00406000 rw-p 00000000 08:01 2 /dev/shm/nccl-xyz\n"
                              "00407000-00408000 r-xp 00000000 08:01 3 /opt/with space/lib.so\n"
                              "7ffe0000-7ffe1000 r-xp 00000000 00:00 0 [vdso]\n");

  auto found = system::mapped_libraries(tree.root());

  REQUIRE(found.size() == 2);
  CHECK(found[0].path == "/opt/a/libnccl.so.2.28.3");
  CHECK(found[0].soname.empty());
  CHECK(found[1].path == "/opt/with space/lib.so");
}

TEST_CASE("this process maps its C library, by its name") {
  auto found = system::mapped_libraries();

  CHECK(std::any_of(found.begin(), found.end(), [](const model::MappedLibrary& library) {
    return library.soname == "libc.so.6";
  }));
}

TEST_CASE("a file that is no ELF file, or is cut off anywhere, has no names and does no harm") {
  auto found = system::mapped_libraries();
  REQUIRE(!found.empty());
  auto with_name = std::find_if(found.begin(), found.end(),
                                [](const auto& library) { return !library.soname.empty(); });
  REQUIRE(with_name != found.end());
  std::string whole = bytes_of(with_name->path);
  support::FileTree tree;

  for (std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{63}, std::size_t{64},
                           std::size_t{200}, whole.size() / 2}) {
    tree.file("cut.so", whole.substr(0, size));
    auto names = system::dynamic_names(tree.root() / "cut.so");
    CHECK((!names || names->soname.empty() || names->soname == with_name->soname));
  }
  tree.file("text.so", "not an ELF file, but long enough to hold one of its headers, or nearly so");
  CHECK_FALSE(system::dynamic_names(tree.root() / "text.so"));
  CHECK_FALSE(system::dynamic_names(tree.root() / "absent.so"));
}
