// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"
#include "launch/worker/loaded_libraries.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;
using worker::loaded_libraries;

namespace {

// Two files and a link to the first, as packages install them.
struct Folder {
  support::ScratchFolder place;
  std::string first = file("libnccl.so.2.28.3");
  std::string second = file("libnccl.so.2.28.9");
  std::string link = (place / "libnccl.so.2").string();

  Folder() { std::filesystem::create_symlink(first, link); }
  std::string file(const char* name) const {
    std::filesystem::path path = place / name;
    std::ofstream(path) << name;
    return std::filesystem::canonical(path).string();
  }
};

model::MappedLibrary mapped(const std::string& path, const std::string& soname = "libnccl.so.2") {
  model::MappedLibrary library;
  library.path = path;
  library.soname = soname;
  return library;
}

} // namespace

TEST_CASE("a library is known by the file that its links lead to") {
  Folder folder;

  auto told = loaded_libraries({{"nccl", "2.28.3", folder.link, ""}}, {{"nccl", folder.link}},
                               {mapped("/usr/lib/libc.so.6", "libc.so.6"), mapped(folder.first)});

  CHECK(told == std::vector<model::Library>{{"nccl", "2.28.3", folder.first, ""}});
}

TEST_CASE("what was loaded instead of what was asked for is a problem, with both files") {
  Folder folder;

  auto told = loaded_libraries({{"nccl", "2.28.9", folder.second, ""}}, {{"nccl", folder.link}},
                               {mapped(folder.second)});

  REQUIRE(told.size() == 1);
  CHECK(told[0].problem == folder.link + " (" + folder.first + ") was requested, but " +
                               folder.second + " was loaded");
}

TEST_CASE("a second file of the same name is a problem, other libraries are none") {
  Folder folder;

  auto told = loaded_libraries(
      {{"nccl", "2.28.3", folder.first, ""}}, {{"cublaslt", "/opt/libcublasLt.so.13"}},
      {mapped(folder.first), mapped(folder.second), mapped("/opt/libnccl-net.so", "")});

  CHECK(told[0].problem == folder.second + " (libnccl.so.2) is loaded as well");
}

TEST_CASE("a file that was replaced while it was loaded is a problem") {
  Folder folder;

  auto told = loaded_libraries({{"nccl", "2.28.3", folder.first, ""}}, {},
                               {mapped(folder.first + " (deleted)")});

  CHECK_THAT(told[0].problem, ContainsSubstring("replaced or removed"));
}

TEST_CASE("a bare name is searched for, so any file answers it") {
  Folder folder;

  auto told = loaded_libraries({{"nccl", "2.28.3", folder.first, ""}}, {{"nccl", "libnccl.so.2"}},
                               {mapped(folder.first)});

  CHECK(told[0].problem == "");
}

TEST_CASE("the program tells which one it is, and that it is not the one that was asked for") {
  auto alone = worker::this_program({{"nccl", "/b/libnccl.so.2"}});
  auto other = worker::this_program({{"worker", "/b/ncclprobe-worker"}});

  CHECK(alone.name == "worker");
  CHECK(alone.path == std::filesystem::canonical("/proc/self/exe").string());
  CHECK_THAT(alone.version,
             ContainsSubstring(base::version_and_build()) && ContainsSubstring("nvidia backend: "));
  CHECK(alone.problem.empty());
  CHECK_THAT(other.problem, ContainsSubstring("/b/ncclprobe-worker was requested"));
  CHECK(worker::this_program({{"worker", alone.path}}).problem.empty());
}
