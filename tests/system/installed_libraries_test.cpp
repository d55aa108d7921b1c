// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/installed_libraries.h"

#include "support/catch.h"
#include "support/file_tree.h"
#include "support/loader_cache.h"

#include <algorithm>

using namespace ncclprobe;
using model::InstalledLibrary;
using support::loader_cache;

namespace {

std::vector<std::string> paths_of(const std::vector<InstalledLibrary>& found) {
  std::vector<std::string> paths;
  for (const InstalledLibrary& one : found)
    paths.push_back(one.path);
  return paths;
}

} // namespace

TEST_CASE("runtimes and NCCLs are found where programs look, each once and in that order") {
  support::FileTree tree;
  tree.file("opt/own/libnccl.so.2.28.3", "")
      .file("opt/own/libnccl-net.so", "")
      .file("usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "")
      .file("etc/ld.so.cache", loader_cache({"/usr/lib/x86_64-linux-gnu/libnccl.so.2",
                                             "/usr/lib/x86_64-linux-gnu/libz.so.1"}))
      .file("usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12.4.127", "")
      .file("usr/local/other/lib64/libcudart.so.9.0.1", "");
  std::filesystem::create_symlink("libnccl.so.2.21.5",
                                  tree.root() / "usr/lib/x86_64-linux-gnu/libnccl.so.2");
  std::filesystem::create_directory_symlink("targets/x86_64-linux/lib",
                                            tree.root() / "usr/local/cuda-12.4/lib64");

  auto found =
      system::installed_libraries({{"LD_LIBRARY_PATH", "/nowhere:/opt/own"}}, "", tree.root());

  CHECK(found == std::vector<InstalledLibrary>{
                     {"/opt/own/libnccl.so.2.28.3", "", "2.28.3", "LD_LIBRARY_PATH"},
                     {"/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5", "", "2.21.5", "loader"},
                     {"/usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12.4.127", "",
                      "12.4.127", "toolkit"}});
}

TEST_CASE("wheels of a Python environment are found, with their versions by pip's folders") {
  support::FileTree tree;
  const std::string packages = "venv/lib/python3.12/site-packages/";
  tree.file(packages + "nvidia/cuda_runtime/lib/libcudart.so.12", "")
      .file(packages + "nvidia/nccl/lib/libnccl.so.2", "")
      .file(packages + "nvidia_cuda_runtime_cu12-12.8.90.dist-info/METADATA", "")
      .file(packages + "nvidia_cuda_runtime_cu11-11.8.89.dist-info/METADATA", "")
      .file(packages + "nvidia_nccl_cu12-2.27.3.dist-info/METADATA", "")
      .file("conda/lib/libnccl.so.2.18.1", "");

  auto found = system::installed_libraries({{"VIRTUAL_ENV", "/venv"}, {"CONDA_PREFIX", "/conda"}},
                                           "", tree.root());

  CHECK(found == std::vector<InstalledLibrary>{
                     {"/" + packages + "nvidia/cuda_runtime/lib/libcudart.so.12", "", "12.8.90",
                      "VIRTUAL_ENV"},
                     {"/" + packages + "nvidia/nccl/lib/libnccl.so.2", "", "2.27.3", "VIRTUAL_ENV"},
                     {"/conda/lib/libnccl.so.2.18.1", "", "2.18.1", "CONDA_PREFIX"}});
}

TEST_CASE("an interpreter that was named tells its environment, by path or through PATH") {
  support::FileTree tree;
  tree.file("venv/bin/python", "").file("venv/lib/libnccl.so.2.18.1", "");

  CHECK(paths_of(system::installed_libraries({}, "/venv/bin/python", tree.root())).size() == 1);
  CHECK(
      paths_of(system::installed_libraries({{"PATH", "/nowhere:/venv/bin"}}, "python", tree.root()))
          .size() == 1);
  CHECK(system::installed_libraries({{"PATH", "/nowhere"}}, "python", tree.root()).empty());
}

TEST_CASE("relative paths count from the current folder") {
  support::FileTree tree;
  tree.file("venv/bin/python", "").file("venv/lib/libnccl.so.2.18.1", "");
  const auto root = std::filesystem::canonical(tree.root());
  const std::string venv = std::filesystem::relative(root / "venv").string();
  auto finds = [&](const std::map<std::string, std::string>& environment,
                   const std::string& python) {
    auto paths = paths_of(system::installed_libraries(environment, python));
    return std::count(paths.begin(), paths.end(), (root / "venv/lib/libnccl.so.2.18.1").string());
  };

  CHECK(finds({}, venv + "/bin/python") == 1);
  CHECK(finds({{"PATH", venv + "/bin"}}, "python") == 1);
  CHECK(finds({{"LD_LIBRARY_PATH", venv + "/lib"}}, "") == 1);
  CHECK(finds({}, "python") == 0);
}

TEST_CASE("two wheels that could have left a file leave its version open") {
  support::FileTree tree;
  const std::string packages = "venv/lib/python3.12/site-packages/";
  tree.file(packages + "nvidia/nccl/lib/libnccl.so.2", "")
      .file(packages + "nvidia_nccl_cu12-2.27.3.dist-info/METADATA", "")
      .file(packages + "nvidia_nccl_cu13-2.28.9.dist-info/METADATA", "");

  auto found = system::installed_libraries({{"VIRTUAL_ENV", "/venv"}}, "", tree.root());

  REQUIRE(found.size() == 1);
  CHECK(found.front().version.empty());
}

TEST_CASE("a host without any has none") {
  support::FileTree tree;

  CHECK(system::installed_libraries({}, "", tree.root()).empty());
}
