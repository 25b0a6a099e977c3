// SPDX-License-Identifier: Apache-2.0
// The memory accesses of the compiled kernels, from their PTX: what a kernel reads and writes 16
// bytes at a time has to be one instruction of four words. A load of a struct of four words, for
// one, compiles to four loads, and nothing but the time on a GPU tells.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace orrery {
namespace {

struct Accesses {
    int wide_loads = 0;   // of four words, global
    int wide_stores = 0;  // likewise
    // Four words of one 16-byte place by four instructions: "ld.global [%rd1]".
    std::vector<std::string> split;
};

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text{
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free};
    return status == 0 ? text.get() : name;
}

// One access of one word: whether it loads, the state space, the register of the address, offset.
struct WordAccess {
    std::string place;  // "ld.global [%rd1]"
    int offset = 0;
};

class PtxReader {
public:
    // Entry points by their names in C++.
    static std::map<std::string, Accesses> read(const std::string& ptx) {
        PtxReader reader;
        std::istringstream lines{ptx};
        for (std::string line; std::getline(lines, line);) {
            reader.read_line(line);
        }
        reader.end_entry();
        return reader.entries_;
    }

private:
    void read_line(const std::string& line) {
        static const std::regex entry{R"(\.entry (\w+)\()"};
        static const std::regex access{
            R"(\b(ld|st)(?:\.volatile)?\.(global|shared)[.\w]*?(\.v4)?\.[usbf]32\s+(.*);)"};
        static const std::regex address{R"(\[(%?\w+)(?:\+(-?\d+))?\])"};
        std::smatch m;
        std::smatch at;
        if (std::regex_search(line, m, entry)) {
            end_entry();
            name_ = demangled(m[1].str());
            return;
        }
        if (!std::regex_search(line, m, access)) {
            return;
        }
        if (m[3].matched) {
            (m[1] == "ld" ? now_.wide_loads : now_.wide_stores) += m[2] == "global" ? 1 : 0;
            return;
        }
        const std::string operands = m[4].str();
        if (std::regex_search(operands, at, address)) {
            words_[m[1].str() + "." + m[2].str() + " [" + at[1].str() + "]"].insert(
                at[2].matched ? std::stoi(at[2].str()) : 0);
        }
    }
    void end_entry() {
        for (const auto& [place, offsets] : words_) {
            // Addresses of elements are computed to the first one; a step's scalars, which one
            // thread reads, lie at offsets from the first scalar.
            for (const int first : offsets) {
                if (offsets.contains(0) && first % 16 == 0 && offsets.contains(first + 4) &&
                    offsets.contains(first + 8) && offsets.contains(first + 12)) {
                    now_.split.push_back(place + "+" + std::to_string(first));
                    break;
                }
            }
        }
        if (!name_.empty()) {
            entries_[name_] = now_;
        }
        name_.clear();
        now_ = {};
        words_.clear();
    }

    std::map<std::string, Accesses> entries_;
    std::string name_;
    Accesses now_;
    std::map<std::string, std::set<int>> words_;  // offsets from a register
};

// PTX of sm_80 that an object of the build holds. Loads and stores of other architectures are the
// same; empty if there is none.
std::string embedded_ptx(const std::string& object_of) {
    std::istringstream objects{ORRERY_CUDA_OBJECTS};
    std::string text;
    for (std::string object; std::getline(objects, object, ':');) {
        if (object.find("/" + object_of + ".o") != std::string::npos) {
            std::ifstream file{object, std::ios::binary};
            const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
            for (std::size_t at = bytes.find("\n.version "); at != std::string::npos;
                 at = bytes.find("\n.version ", at + 1)) {
                text += bytes.substr(at, bytes.find('\0', at) - at);
            }
        }
    }
    return text;
}

// PTX of a .cu file of this repository; empty if nvcc fails.
std::string compiled_ptx(const std::string& file) {
    const std::string command = ORRERY_NVCC_COMMAND " -ptx -o - " ORRERY_SOURCE_DIR "/" + file;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "r"), pclose};
    std::string text;
    std::array<char, 1 << 16> part{};
    for (std::size_t n = 0;
         pipe != nullptr && (n = fread(part.data(), 1, part.size(), pipe.get())) > 0;) {
        text.append(part.data(), n);
    }
    return text;
}

struct Family {
    std::string name;
    std::string file;                  // of tests: compiled by the test
    std::vector<std::string> kernels;  // that must have wide loads and wide stores
    std::vector<std::string> loads;    // that must have wide loads
};

void PrintTo(const Family& family, std::ostream* out) {
    *out << family.file;
}

std::vector<Family> families() {
    const auto cu = [](const std::string& name) {
        return name + "/" + name + "_cuda.cu";
    };
    const std::vector<std::string> norm{"NormForwardKernel", "NormBackwardKernel"};
    return {
        {"activation", cu("activation"), {"ActivationKernel", "GateProductKernel"}, {}},
        {"attention",
         "tests/kernels/attention/attention_widths.cu",
         {"AttentionKeyGradientKernel", "AttentionQueryGradientKernel"},
         {"AttentionStatisticsKernel"}},
        {"cross_entropy", cu("cross_entropy"), {"LossStatisticsKernel", "LossBackwardKernel"}, {}},
        {"embedding",
         cu("embedding"),
         {"EmbeddingForwardKernel", "EmbeddingBackwardKernel", "PositionKernel"},
         {}},
        {"layernorm", cu("layernorm"), norm, {}},
        {"optimizer", cu("optimizer"), {"AdamwKernel", "LambUpdateKernel", "LambApplyKernel"}, {}},
        {"residual",
         cu("residual"),
         {"FlatSumKernel", "BranchKernel", "MaskedKernel", "BiasPartialKernel"},
         {}},
        {"rmsnorm", cu("rmsnorm"), norm, {}}};
}

TEST(PtxReader, CountsAccessesOfFourWordsAndFindsThoseThatAreSplit) {
    const auto entries = PtxReader::read(
        ".visible .entry wide(\n"
        "\tld.global.v4.u32 \t{%r9, %r10, %r11, %r12}, [%rd32];\n"
        "\tst.global.v4.b32 \t[%rd35+16], {%r21, %r22, %r23, %r24};\n"
        "\tld.global.nc.u32 \t%r1, [%rd4];\n"
        ".visible .entry narrow(\n"
        "\tld.global.u32 \t%r1, [%rd4];\n\tld.global.u32 \t%r2, [%rd4+4];\n"
        "\tld.global.u32 \t%r3, [%rd4+8];\n\tld.global.u32 \t%r4, [%rd4+12];\n"
        "\tst.shared.f32 \t[%r5+-4], %f1;\n\tst.shared.f32 \t[%r5], %f1;\n");
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries.at("wide").wide_loads, 1);
    EXPECT_EQ(entries.at("wide").wide_stores, 1);
    EXPECT_TRUE(entries.at("wide").split.empty());
    EXPECT_EQ(entries.at("narrow").wide_loads, 0);
    EXPECT_EQ(entries.at("narrow").split, std::vector<std::string>{"ld.global [%rd4]+0"});
}

class AccessWidths : public ::testing::TestWithParam<Family> {};

TEST_P(AccessWidths, SixteenBytesAreOneAccess) {
    const std::string& file = GetParam().file;
    const std::string ptx = file.starts_with("tests/") ? compiled_ptx(file) : embedded_ptx(file);
    ASSERT_NE(ptx.find(".entry"), std::string::npos)
        << "no PTX of " << file << ": nvcc failed, or CMAKE_CUDA_ARCHITECTURES has no virtual one";
    const std::map<std::string, Accesses> entries = PtxReader::read(ptx);
    for (const auto& [name, accesses] : entries) {
        for (const std::string& place : accesses.split) {
            // In shared memory, only attention's tiles are rows of 16 bytes.
            EXPECT_TRUE(place.find(".shared") != std::string::npos &&
                        GetParam().name != "attention")
                << name << " splits " << place;
        }
    }
    const auto expect_wide = [&](const std::string& kernel, bool stores) {
        int found = 0;
        for (const auto& [name, accesses] : entries) {
            // Rows that are not 16-byte aligned: element by element.
            if (name.find(kernel) == std::string::npos ||
                name.find(", 1, 32>") != std::string::npos) {
                continue;
            }
            ++found;
            EXPECT_GT(accesses.wide_loads, 0) << name;
            EXPECT_TRUE(!stores || accesses.wide_stores > 0) << name;
        }
        EXPECT_GT(found, 0) << "no " << kernel << " in " << GetParam().file;
    };
    for (const std::string& kernel : GetParam().kernels) {
        expect_wide(kernel, true);
    }
    for (const std::string& kernel : GetParam().loads) {
        expect_wide(kernel, false);
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         AccessWidths,
                         ::testing::ValuesIn(families()),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace orrery
