"""The wheel of one platform: the package with its compiled kernels, which `ostinato warm` wrote to a folder."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):
    """Without a folder in the environment the wheel is the pure one, for all platforms."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("OSTINATO_WHEEL_KERNELS")
        if folder and version == "standard":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            if sys.platform == "linux":  # kernels need nothing but the C library's mathematics
                platform = platform.replace("linux", "manylinux_2_17")
            build_data["tag"] = f"py3-none-{platform}"
            build_data["pure_python"] = False
            build_data["force_include"][os.path.abspath(folder)] = "ostinato/core/jit/compiled"
