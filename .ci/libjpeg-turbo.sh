#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds libjpeg-turbo for wheels, the same version on every platform. Without nasm there would be no
# SIMD on x86, and nothing would say so but REQUIRE_SIMD.
set -eu
version=3.1.2
prefix=/usr/local
if command -v dnf >/dev/null; then
    dnf install -y cmake nasm || dnf install -y cmake
elif command -v apk >/dev/null; then
    apk add --no-cache cmake nasm
else
    brew install cmake nasm
fi
build=$(mktemp -d)
git clone --quiet --depth 1 --branch "$version" \
    https://github.com/libjpeg-turbo/libjpeg-turbo "$build/source"
cmake -S "$build/source" -B "$build/build" -DCMAKE_BUILD_TYPE=Release -DENABLE_STATIC=OFF \
    -DREQUIRE_SIMD=ON \
    -DWITH_TURBOJPEG=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_OSX_DEPLOYMENT_TARGET=11.0
cmake --build "$build/build" --parallel
if [ "$(id -u)" = 0 ]; then
    cmake --install "$build/build"
else
    sudo cmake --install "$build/build"
fi
if command -v ldconfig >/dev/null; then ldconfig "$prefix/lib64" "$prefix/lib" || true; fi
