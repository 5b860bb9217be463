#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds libjpeg-turbo, libpng, libdeflate and isa-l for wheels, the same versions on every platform, and puts their
# licences, and that of zlib, beside the project's, from where they get into the wheel. Without nasm
# there would be no SIMD on x86, and nothing would say so but REQUIRE_SIMD.
set -eu
prefix=/usr/local
if command -v dnf >/dev/null; then
    dnf install -y cmake nasm zlib-devel || dnf install -y cmake zlib-devel
elif command -v apk >/dev/null; then
    apk add --no-cache cmake nasm zlib-dev
else
    brew install cmake nasm # zlib is part of the system
fi
build=$(mktemp -d)

# get REPOSITORY VERSION
get() {
    source=$build/$(basename "$1")
    git clone --quiet --depth 1 --branch "$2" "https://github.com/$1" "$source"
    cat $(ls "$source"/LICENSE* "$source/COPYING" "$source/README.ijg" 2>/dev/null) >"LICENSE.$(basename "$1")"
}

# install REPOSITORY VERSION OPTION...
install() {
    get "$1" "$2"
    shift 2
    cmake -S "$source" -B "$source/build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_OSX_DEPLOYMENT_TARGET=11.0 "$@"
    cmake --build "$source/build" --parallel
    if [ "$(id -u)" = 0 ]; then
        cmake --install "$source/build"
    else
        sudo cmake --install "$source/build"
    fi
}

install libjpeg-turbo/libjpeg-turbo 3.1.2 -DENABLE_STATIC=OFF -DREQUIRE_SIMD=ON -DWITH_TURBOJPEG=OFF
install pnggroup/libpng v1.6.50 -DPNG_STATIC=OFF -DPNG_TESTS=OFF -DPNG_TOOLS=OFF -DPNG_FRAMEWORK=OFF
install ebiggers/libdeflate v1.24 -DLIBDEFLATE_BUILD_STATIC_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF
install intel/isa-l v2.32.1 -DBUILD_SHARED_LIBS=ON -DISAL_BUILD_TESTS=OFF -DISAL_BUILD_PERF_TESTS=OFF \
    -DISAL_BUILD_ISAL_SHIM=OFF
get madler/zlib v1.3.1
if command -v ldconfig >/dev/null; then ldconfig "$prefix/lib64" "$prefix/lib" || true; fi
