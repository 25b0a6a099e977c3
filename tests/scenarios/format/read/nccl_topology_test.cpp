// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/nccl_topology.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

// Two sockets, a GPU and an adapter on each, as NCCL nests them.
constexpr const char* kTopology = R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="17">
    <pci busid="0000:18:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:1b:00.0" class="0x030200">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:c1:00.0" count="4" tclass="0x068000"/>
          <nvlink target="0000:c2:00.0" count="14" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:1c:00.0" class="0x020700">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" latency="0" guid="0x1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:9b:00.0" class="0x030200"><gpu dev="1" sm="90" rank="1"/></pci>
  </cpu>
</system>
)";

TEST(NcclTopology, CountsWhatTheNodeHas) {
    const TestFolder folder;
    const auto found = read_nccl_topology(folder.write("t.xml", kTopology));
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->gpus, 2U);
    EXPECT_EQ(found->compute_capability, 90U);
    EXPECT_EQ(found->nvlinks_per_gpu, 18U);
    EXPECT_TRUE(found->nvswitch);
    EXPECT_EQ(found->sockets, 2U);
    EXPECT_TRUE(found->amd);
    EXPECT_EQ(found->nics, 1U);
    EXPECT_EQ(found->nic_megabits, 400'000U);
}

TEST(NcclTopology, WhatIsNoneIsAnError) {
    const TestFolder folder;
    const auto error_of = [&](const std::string& text) {
        const auto found = read_nccl_topology(folder.write("t.xml", text));
        return found ? std::string{} : found.error().what;
    };
    EXPECT_FALSE(read_nccl_topology(folder / "none.xml"));
    EXPECT_EQ(read_nccl_topology(folder.path()).error().what, "is a folder, not a file");
    EXPECT_NE(error_of("<system><cpu>").find("XML"), std::string::npos);
    EXPECT_NE(error_of("<graphs/>").find("no element 'system'"), std::string::npos);
    EXPECT_NE(error_of("<system version=\"1\"/>").find("no GPUs"), std::string::npos);
    std::string deep = "<system>";
    for (int i = 0; i < 100; ++i) {
        deep += "<pci>";
    }
    deep += "<gpu sm=\"90\"/>";
    for (int i = 0; i < 100; ++i) {
        deep += "</pci>";
    }
    EXPECT_NE(error_of(deep + "</system>").find("no GPUs"), std::string::npos);
}

}  // namespace
}  // namespace orrery
