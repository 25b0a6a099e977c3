// SPDX-License-Identifier: Apache-2.0
// The folder that scenarios/gpu_bench/bundle.sh makes, in a root with nothing else but the C and
// C++ library: as on a GPU machine that has none of Debian's packages and no network.
#include <gtest/gtest.h>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class GpuBundle : public testing::Test {
protected:
    Ran bundle(const std::string& arguments) {
        return run_shell("'" ORRERY_SOURCE_DIR "/scenarios/gpu_bench/bundle.sh' " + arguments,
                         folder_.path());
    }
    std::string in_folder(const std::string& below) const {
        return (folder_.path() / below).string();
    }

    TestFolder folder_;
};

TEST_F(GpuBundle, StartsWhereThereIsNothingElse) {
    const Ran made = bundle("'" ORRERY_BUILD_DIR "' bundle");
    ASSERT_EQ(made.status, 0) << made.err;
    // The loader, and what every machine has.
    const Ran root = run_shell(
        "set -e; mkdir -p root/lib64 root/lib root/proc root/tmp; cp -r bundle root/bundle\n"
        "ldd bundle/bin/orrery | sed 's/.*=> //; s/ (.*//; s/^[[:space:]]*//' | grep ^/ |\n"
        "    grep -v \"^$PWD\" | while read -r f; do\n"
        "    case ${f##*/} in\n"
        "        ld-linux*) cp -L \"$f\" root/lib64/;;\n"
        "        libc.so*|libm.so*|libdl.so*|librt.so*|libpthread.so*|libstdc++.so*|libgcc_s.so*)\n"
        "            cp -L \"$f\" root/lib/;;\n"
        "        *) echo \"not carried: $f\"; exit 1;;\n"
        "    esac\n"
        "done",
        folder_.path());
    ASSERT_EQ(root.status, 0) << root.out << root.err;
    if (run_shell("unshare -rm mount --rbind /proc root/proc", folder_.path()).status != 0) {
        GTEST_SKIP() << "the kernel gives no namespaces for a root of its own";
    }
    const auto in_root = [&](const std::string& arguments) {
        return run_shell(
            "env -i unshare -rm sh -c 'mount --rbind /proc root/proc && exec chroot root \"$@\"' - "
            "/bundle/bin/" +
                arguments,
            folder_.path());
    };
    const Ran version = in_root("orrery --version");
    EXPECT_EQ(version.status, 0) << version.err;
    // By the catalogue that was carried: the source tree's is not there.
    const Ran step = in_root("orrery simulate /bundle/scenarios/gpt2-124m-1gpu.yaml");
    EXPECT_EQ(step.status, 0) << step.err;
    EXPECT_NE(step.out.find("tokens/s"), std::string::npos) << step.out;
    const Ran bench = in_root("orrery gpu-bench");
    EXPECT_EQ(bench.status, 2) << bench.out << bench.err;
    EXPECT_EQ(bench.err.find("gpu-bench: error: "), 0u) << bench.err;
    if (fs::exists(in_folder("bundle/bin/kernel_check"))) {
        const Ran check = in_root("kernel_check");
        EXPECT_LT(check.status, 126) << check.err;  // it started
    }
}

TEST_F(GpuBundle, FitsIntoWhatIsCarried) {
    ASSERT_EQ(bundle("'" ORRERY_BUILD_DIR "' bundle").status, 0);
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() / "bundle")) {
        bytes += entry.is_regular_file() ? entry.file_size() : 0;
        EXPECT_EQ(entry.path().string().find("simgrid"), std::string::npos) << entry.path();
    }
    EXPECT_LT(bytes, std::uintmax_t{64} << 20);
    EXPECT_TRUE(fs::exists(in_folder("bundle/scenarios/gpu_bench/gpt2_torch.py")));
}

TEST_F(GpuBundle, RemovesNothingButABundle) {
    fs::create_directory(folder_.path() / "mine");
    write_text(folder_.path() / "mine" / "notes", "keep");
    const Ran refused = bundle("'" ORRERY_BUILD_DIR "' mine");
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("mine has files"), std::string::npos) << refused.err;
    EXPECT_EQ(read_text(folder_.path() / "mine" / "notes"), "keep");
    const Ran nothing = bundle("/no/such/build");
    EXPECT_EQ(nothing.status, 1);
    EXPECT_NE(nothing.err.find("build it first"), std::string::npos) << nothing.err;
    // Again over itself.
    ASSERT_EQ(bundle("'" ORRERY_BUILD_DIR "' bundle").status, 0);
    write_text(folder_.path() / "bundle" / "old", "");
    ASSERT_EQ(bundle("'" ORRERY_BUILD_DIR "' bundle").status, 0);
    EXPECT_FALSE(fs::exists(in_folder("bundle/old")));
}

}  // namespace
}  // namespace orrery
