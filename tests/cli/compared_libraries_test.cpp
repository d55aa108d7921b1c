// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/compared_libraries.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;

TEST_CASE("compared libraries are a known name and files") {
  std::vector<workload::Axis> libraries;

  REQUIRE(cli::add_compared_library("nccl=/b.so,/c.so", libraries).has_value());

  CHECK(libraries[0].name == "nccl");
  CHECK(libraries[0].values == std::vector<std::string>{"/b.so", "/c.so"});
  CHECK_THAT(cli::add_compared_library("gloo=/b.so", libraries).error().text(),
             ContainsSubstring("'gloo' is not a library that is loaded by name"));
  CHECK_THAT(cli::add_compared_library("/b.so", libraries).error().text(),
             ContainsSubstring("is not NAME=PATH,PATH"));
}

TEST_CASE("a file that is not there is refused, and what to do is said") {
  support::ScratchFolder folder;
  std::string there = (folder / "libnccl.so.2").string();
  std::ofstream(there) << "ELF";

  CHECK(cli::check_library_files({{"nccl", {there, "libnccl.so.2"}}}).has_value());

  auto missing = cli::check_library_files({{"nccl", {there, there + ".9"}}});
  REQUIRE_FALSE(missing.has_value());
  CHECK_THAT(missing.error().text(), ContainsSubstring("'" + there + ".9' is no file") &&
                                         ContainsSubstring("on every host"));
  CHECK_FALSE(cli::check_library_files({{"nccl", {folder.path().string()}}}).has_value());
  CHECK_FALSE(cli::check_library_files({{"nccl", {""}}}).has_value());
}
