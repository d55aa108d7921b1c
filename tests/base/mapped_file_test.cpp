// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/mapped_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;
using base::MappedFile;

TEST_CASE("files are mapped, and what is no file is refused") {
  support::ScratchFolder folder;
  std::ofstream(folder / "full") << "the bytes";
  std::ofstream(folder / "empty");

  auto file = MappedFile::open(folder / "full");
  REQUIRE(file);
  MappedFile moved = std::move(*file);
  CHECK(moved.bytes() == "the bytes");
  CHECK(MappedFile().bytes().empty());
  CHECK(MappedFile::open(folder / "none").error().code == base::Errc::not_found);
  CHECK_THAT(MappedFile::open(folder.path()).error().message,
             ContainsSubstring("not a regular file"));
  CHECK_THAT(MappedFile::open(folder / "empty").error().message, ContainsSubstring("is empty"));
}
