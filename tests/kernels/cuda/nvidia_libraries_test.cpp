// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nvidia_libraries.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "engine/base/scratch_folder.h"
#include "kernels/cuda/shared_library.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// Sets variables, and puts them back.
class Variables {
public:
    ~Variables() {
        for (const auto& [name, value] : before_) {
            value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
        }
    }
    void set(const std::string& name, const std::string& value) {
        const char* const was = std::getenv(name.c_str());
        before_.try_emplace(name, was == nullptr ? std::nullopt : std::optional<std::string>{was});
        setenv(name.c_str(), value.c_str(), 1);
    }

private:
    std::map<std::string, std::optional<std::string>> before_;
};

// A file that the loader takes, under another name.
void put_library(const fs::path& file) {
    const auto library = SharedLibrary::open({"libm.so.6"});
    ASSERT_TRUE(library);
    void* const handle = dlopen("libm.so.6", RTLD_NOW);
    link_map* map = nullptr;
    ASSERT_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    fs::create_directories(file.parent_path());
    fs::copy_file(map->l_name, file);
}

class NvidiaLibraries : public testing::Test {
protected:
    NvidiaLibraries() : folder_(std::move(*ScratchFolder::make("orrery-test"))) {
        for (const char* name : {"ORRERY_CUDA_LIBRARIES",
                                 "CUDA_HOME",
                                 "CUDA_PATH",
                                 "PYTHONPATH",
                                 "VIRTUAL_ENV",
                                 "CONDA_PREFIX",
                                 "PATH",
                                 "HOME"}) {
            variables_.set(name, "");
        }
    }
    std::string path(const std::string& below) const { return (folder_.path() / below).string(); }
    static bool opens() {
        return SharedLibrary::open(nvidia_library_places(kName, "/no/such/folder")).has_value();
    }
    static constexpr const char* kName = "liborrerytest.so.2";

    ScratchFolder folder_;
    Variables variables_;
};

TEST_F(NvidiaLibraries, AreFoundInEveryPlaceThatIsNamed) {
    EXPECT_FALSE(opens());
    put_library(path("own/") + kName);
    variables_.set("ORRERY_CUDA_LIBRARIES", "/no/such:" + path("own"));
    EXPECT_TRUE(opens());
    variables_.set("ORRERY_CUDA_LIBRARIES", "");
    EXPECT_FALSE(opens());
    put_library(path("toolkit/lib64/") + kName);
    variables_.set("CUDA_HOME", path("toolkit"));
    EXPECT_TRUE(opens());
}

TEST_F(NvidiaLibraries, AreFoundInPythonsPackages) {
    put_library(path("venv/lib/python3.12/site-packages/nvidia/nccl/lib/") + kName);
    EXPECT_FALSE(opens());
    variables_.set("VIRTUAL_ENV", path("venv"));
    EXPECT_TRUE(opens());
    variables_.set("VIRTUAL_ENV", "");
    variables_.set("PYTHONPATH", path("venv/lib/python3.12/site-packages"));
    EXPECT_TRUE(opens());
    variables_.set("PYTHONPATH", "");
    // By the python3 that would run.
    fs::create_directories(path("venv/bin"));
    fs::copy_file("/bin/true", path("venv/bin/python3"));
    variables_.set("PATH", path("venv/bin"));
    EXPECT_TRUE(opens());
}

TEST_F(NvidiaLibraries, TheUsersOwnFolderComesFirstAndTheBuildsLast) {
    variables_.set("ORRERY_CUDA_LIBRARIES", "/a:/b");
    const auto places = nvidia_library_places(kName, "/build");
    EXPECT_EQ(places[0], std::string{"/a/"} + kName);
    EXPECT_EQ(places[1], std::string{"/b/"} + kName);
    EXPECT_EQ(places[2], kName);
    EXPECT_EQ(places.back(), std::string{"/build/"} + kName);
}

TEST_F(NvidiaLibraries, AnErrorNamesEveryPlace) {
    variables_.set("CUDA_HOME", "/no/toolkit");
    variables_.set("CONDA_PREFIX", "/no/conda");
    const auto library = SharedLibrary::open(nvidia_library_places(kName, "/no/build"));
    ASSERT_FALSE(library);
    for (const char* place : {"/no/toolkit/lib64/", "/no/conda/lib/python3*/", "/no/build/"}) {
        EXPECT_NE(library.error().what.find(place), std::string::npos) << library.error().what;
    }
}

}  // namespace
}  // namespace orrery
