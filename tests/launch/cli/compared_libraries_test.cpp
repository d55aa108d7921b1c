// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/compared_libraries.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>
#include <unistd.h>

using namespace ncclprobe;

TEST_CASE("compared libraries are a known name and files") {
  const auto library = cli::parse_compared_library("nccl=/b.so,/c.so");

  REQUIRE(library.has_value());
  CHECK(library->name == "nccl");
  CHECK(library->values == std::vector<std::string>{"/b.so", "/c.so"});
  CHECK_THAT(cli::parse_compared_library("gloo=/b.so").error().text(),
             ContainsSubstring("'gloo' is not a library that is loaded by name"));
  CHECK_THAT(cli::parse_compared_library("/b.so").error().text(),
             ContainsSubstring("is not NAME=PATH,PATH"));
}

TEST_CASE("a file that is not there is refused, and what to do is said") {
  support::ScratchFolder folder;
  std::string there = (folder / "libnccl.so.2").string();
  std::ofstream(there) << "ELF";

  CHECK(cli::check_library_files({{"nccl", {there, "libnccl.so.2"}}}).has_value());

  auto missing = cli::check_library_files({{"nccl", {there, there + ".9"}}});
  REQUIRE_FALSE(missing.has_value());
  CHECK_THAT(missing.error().text(), ContainsSubstring("'" + there + ".9' is not a file") &&
                                         ContainsSubstring("on every host"));
  CHECK_FALSE(cli::check_library_files({{"nccl", {folder.path().string()}}}).has_value());
  CHECK_FALSE(cli::check_library_files({{"nccl", {""}}}).has_value());
}

TEST_CASE("a compared worker is a program with a path") {
  support::ScratchFolder folder;
  std::string there = (folder / "ncclprobe-worker").string();
  std::ofstream(there) << "ELF";
  auto fault = [](const std::string& path) {
    auto checked = cli::check_library_files({{"worker", {path}}});
    return checked ? "" : checked.error().text();
  };

  if (getuid() != 0) // who may execute everything
    CHECK_THAT(fault(there), ContainsSubstring("cannot be executed"));
  std::filesystem::permissions(there, std::filesystem::perms::owner_all);
  CHECK(fault(there).empty());
  CHECK_THAT(fault("ncclprobe-worker"), ContainsSubstring("'ncclprobe-worker' has no folder"));
  CHECK_THAT(fault(there + "2"),
             ContainsSubstring("is not a file") && ContainsSubstring("name an ncclprobe-worker"));
}

TEST_CASE("what tells files apart is their contents") {
  support::ScratchFolder folder;
  std::string file = (folder / "libnccl.so.2").string();
  std::string other = (folder / "libgloo.so.0").string();
  auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  write(file, "first");
  write(other, "gloo");
  cli::RunOptions options;
  options.libraries = {{"nccl", "libnccl.so.2"}, {"nvml", "/nowhere/libnvml.so"}};
  options.compared_libraries = {{"nccl", {file, file}}};
  options.axes = {{"LD_LIBRARY_PATH", {"/nowhere:" + folder.path().string()}}, {"X", {"/y"}}};

  auto before = cli::contents_of_files(options);

  REQUIRE(before.size() == 3); // a bare name is left to the loader
  CHECK(before[0] == model::Setting{"/nowhere/libnvml.so", ""});
  CHECK(before[1].name == file);
  CHECK(before[1].value.starts_with("5 bytes, "));
  CHECK(before[2].name == other);
  CHECK(cli::contents_of_files(options) == before);
  options.settings = {{{"LD_LIBRARY_PATH", options.axes[0].values[0]}}};
  options.axes.clear();
  CHECK(cli::contents_of_files(options) == before);
  write(file, "fir5t");
  CHECK(cli::contents_of_files(options)[1].value != before[1].value);
}
