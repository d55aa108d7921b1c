// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/installed_libraries.h"

#include "system/mapped_libraries.h"

#include "base/loader.h"
#include "base/text_files.h"

#include <algorithm>

namespace ncclprobe::system {

using namespace base;
namespace {

namespace fs = std::filesystem;

// PyTorch's older wheels put a checksum into the name: "libcudart-d0da41ae.so.11.0".
bool is_of_interest(const std::string& file) {
  return file.starts_with("libcudart.so") || file.starts_with("libcudart-") ||
         file.starts_with("libnccl.so");
}

bool is_version(std::string_view text, int least_dots) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         std::ranges::count(text, '.') >= least_dots &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// "libnccl.so.2.27.3" -> "2.27.3". Fewer numbers name an interface, not a version.
std::string version_in_name(const std::string& file) {
  std::size_t at = file.find(".so.");
  std::string text = at == std::string::npos ? "" : file.substr(at + 4);
  return is_version(text, 2) ? text : "";
}

// The wheel that owns a file of <packages>/nvidia/..., from the folders that pip leaves:
// "nvidia_nccl_cu12-2.27.3.dist-info". Empty unless exactly one matches.
std::string version_of_wheel(const fs::path& packages, const std::string& file) {
  const std::string wheel = file.starts_with("libnccl") ? "nvidia_nccl" : "nvidia_cuda_runtime";
  std::string version;
  for (const std::string& name : names_in(packages)) {
    if (!name.starts_with(wheel) || !name.ends_with(".dist-info"))
      continue;
    std::size_t dash = name.find('-');
    std::string tag = name.substr(wheel.size(), dash - wheel.size()); // "", "_cu12"
    if (dash == std::string::npos || (!tag.empty() && !tag.starts_with("_cu")))
      continue;
    // "libcudart.so.12" belongs to the wheel for CUDA 12; NCCL's name is the same in all.
    std::size_t so = file.find(".so.");
    if (wheel == "nvidia_cuda_runtime" && !tag.empty() && so != std::string::npos &&
        file.substr(so + 4, file.find('.', so + 4) - so - 4) != tag.substr(3))
      continue;
    std::string text = name.substr(dash + 1, name.rfind(".dist-info") - dash - 1);
    if (!is_version(text, 1))
      continue;
    if (!version.empty())
      return "";
    version = text;
  }
  return version;
}

class Search {
public:
  explicit Search(const fs::path& root) : root_(root) {}

  // `packages`: the folder of Python's packages, if the file belongs to one.
  void file(const std::string& path, const std::string& found_by,
            const std::string& packages = "") {
    if (!is_of_interest(fs::path(path).filename()))
      return;
    std::error_code error;
    fs::path real = fs::canonical(inside(path), error);
    if (error || !fs::is_regular_file(real, error))
      return;
    fs::path below = root_.lexically_normal() == "/" ? real : real.lexically_relative(real_root());
    std::string own = below.is_absolute() ? below.string() : "/" + below.string();
    if (std::ranges::any_of(found_,
                            [&](const model::InstalledLibrary& one) { return one.path == own; }))
      return;
    model::InstalledLibrary one{own, "", version_in_name(real.filename()), found_by};
    if (auto names = dynamic_names(real))
      one.soname = names->soname;
    if (one.version.empty() && !packages.empty())
      one.version = version_of_wheel(inside(packages), real.filename());
    found_.push_back(std::move(one));
  }

  void folder(const std::string& path, const std::string& found_by,
              const std::string& packages = "") {
    for (const std::string& name : names_in(inside(path)))
      file(path + "/" + name, found_by, packages);
  }

  // The libraries of an environment such as /opt/venv; conda keeps its own beside Python's.
  void python(const std::string& prefix, const std::string& found_by) {
    folder(prefix + "/lib", found_by);
    for (const std::string& version : names_in(inside(prefix + "/lib")))
      for (const char* kind : {"site-packages", "dist-packages"}) {
        if (!version.starts_with("python3"))
          continue;
        std::string packages = prefix + "/lib/" + version + "/" + kind;
        for (const std::string& part : names_in(inside(packages + "/nvidia")))
          folder(packages + "/nvidia/" + part + "/lib", found_by, packages);
        folder(packages + "/torch/lib", found_by);
      }
  }

  std::vector<std::string> names(const std::string& path) const { return names_in(inside(path)); }
  // Relative paths start at the current folder, as for every program; below another root, at that
  // root.
  fs::path absolute(const std::string& path) const {
    std::error_code error;
    return root_ == "/" ? fs::absolute(path, error) : "/" / fs::path(path);
  }
  fs::path inside(const std::string& path) const { return root_ / absolute(path).relative_path(); }
  std::vector<model::InstalledLibrary> take() { return std::move(found_); }

private:
  fs::path real_root() const {
    std::error_code error;
    fs::path real = fs::canonical(root_, error);
    return error ? root_ : real;
  }

  fs::path root_;
  std::vector<model::InstalledLibrary> found_;
};

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find(mark, at), text.size());
    if (end > at)
      parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// "/opt/venv/bin/python" -> "/opt/venv". The link is not followed, because that would leave the
// environment.
std::string prefix_of(const std::string& python, const std::string& path, const Search& search) {
  std::string file = python;
  if (file.find('/') == std::string::npos)
    for (const std::string& folder : split(path, ':'))
      if (std::error_code error; fs::exists(search.inside(folder + "/" + python), error)) {
        file = folder + "/" + python;
        break;
      }
  if (file.find('/') == std::string::npos)
    return "";
  fs::path folder = search.absolute(file).lexically_normal().parent_path();
  return folder.filename() == "bin" ? folder.parent_path().string() : "";
}

} // namespace

std::vector<model::InstalledLibrary>
installed_libraries(const std::map<std::string, std::string>& environment,
                    const std::string& python, const fs::path& root) {
  auto variable = [&](const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  Search search(root);
  for (const std::string& folder : split(variable("LD_LIBRARY_PATH"), ':'))
    search.folder(folder, "LD_LIBRARY_PATH");
  for (const std::string& file : files_of_loader_cache(text_of(search.inside("/etc/ld.so.cache"))))
    search.file(file, "loader");
  for (std::string_view folder : loader_folders())
    search.folder(std::string(folder), "loader");
  for (const char* place : {"/usr/local", "/opt"})
    for (const std::string& toolkit : search.names(place))
      if (toolkit.starts_with("cuda"))
        for (const char* folder : {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
          search.folder(fmt::format("{}/{}/{}", place, toolkit, folder), "toolkit");
  search.folder("/usr/local/lib", "folder");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (std::string prefix = variable(name); !prefix.empty())
      search.python(prefix, name);
  if (std::string prefix = prefix_of(python, variable("PATH"), search); !prefix.empty())
    search.python(prefix, "--python");
  return search.take();
}

} // namespace ncclprobe::system
