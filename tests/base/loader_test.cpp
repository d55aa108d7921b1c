// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/loader.h"
#include "support/catch.h"
#include "support/file_tree.h"
#include "support/loader_cache.h"

using namespace ncclprobe;
using support::loader_cache;

TEST_CASE("the files of a loader's cache are read in its order, behind the older format too") {
  const std::vector<std::string> files{"/usr/lib/libnccl.so.2", "/usr/lib/libz.so.1"};

  CHECK(base::files_of_loader_cache(loader_cache(files)) == files);
  CHECK(base::files_of_loader_cache(loader_cache(files, "ld.so-1.7.0 and its entries ")) == files);
}

TEST_CASE("a loader's cache that is cut off anywhere gives what it has and does no harm") {
  const std::string whole = loader_cache({"/usr/lib/libnccl.so.2", "/usr/lib/libz.so.1"});

  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(base::files_of_loader_cache(whole.substr(0, size)).size() <= 1);
  std::string wild = whole;
  wild.replace(20, 4, "\xff\xff\xff\xff", 4);
  wild.replace(48 + 8, 4, "\xf0\xff\xff\xff", 4);
  CHECK(base::files_of_loader_cache(wild).size() < 10);
  CHECK(base::files_of_loader_cache("no cache").empty());
}

TEST_CASE("a library is found where the loader looks, and nowhere else") {
  support::FileTree tree;
  tree.file("opt/own/libnccl-net.so", "")
      .file("usr/lib64/libnccl-tuner.so", "")
      .file("opt/listed/libnccl-net-aws.so", "")
      .file("opt/nccl/libnccl-net-near.so", "")
      .file("etc/ld.so.cache",
            loader_cache({"/opt/listed/libnccl-net-aws.so", "/opt/gone/libnccl-net-gone.so"}));
  auto finds = [&](const char* name, const char* path = "") {
    return base::loader_finds(name, path, {"/opt/nccl"}, tree.root());
  };

  CHECK(finds("libnccl-net.so", "/nowhere:/opt/own"));
  CHECK_FALSE(finds("libnccl-net.so"));
  CHECK(finds("libnccl-tuner.so"));
  CHECK(finds("libnccl-net-aws.so"));
  CHECK_FALSE(finds("libnccl-net-gone.so"));
  CHECK(finds("libnccl-net-near.so"));
  CHECK(finds("/opt/own/libnccl-net.so"));
  CHECK_FALSE(finds("/opt/own/libnccl-tuner.so"));
}
