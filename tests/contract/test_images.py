"""Images: what is accepted, which RGB8 pixels it becomes, and what is refused before or while decoding."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage

from kit.contract.errors import ContractError
from kit.contract.images import MAX_PIXELS, Image, decode_image
from tests.contract.bodies import body, parse
from tests.contract.pictures import HEIGHT, WIDTH, animated, chunk, picture, png, saved, text

PNG = saved(picture(), "PNG")


def decoded(data: bytes) -> Image:
    return decode_image(text(data))


def pixels(data: bytes) -> list[tuple[int, ...]]:
    rgb = decoded(data).rgb
    return [tuple(rgb[i : i + 3]) for i in range(0, len(rgb), 3)]


def refusal(item: Any) -> str:
    with pytest.raises(ContractError) as caught:
        decode_image(item, "image 2")
    assert (caught.value.status, caught.value.error) == (422, "ValueError")
    assert caught.value.detail.startswith("image 2 ")
    return caught.value.detail


class TestPixels:
    def test_a_lossless_file_gives_back_its_pixels(self) -> None:
        for data, kind in ((PNG, "PNG"), (saved(picture(), "WEBP", lossless=True), "WEBP")):
            assert decoded(data) == Image(WIDTH, HEIGHT, picture().tobytes(), kind)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("mode", "kind", "options"),
        [
            *((mode, "PNG", {}) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
            *((mode, "JPEG", {"quality": 60}) for mode in ("L", "RGB", "CMYK", "YCbCr")),
            ("RGB", "JPEG", {"progressive": True, "subsampling": 0}),
            *((mode, "WEBP", {"quality": 60}) for mode in ("L", "RGB", "RGBA")),
            ("RGBA", "WEBP", {"lossless": True, "exact": True}),
        ],
    )
    def test_every_mode_is_converted_as_pillow_converts_it(
        self, mode: str, kind: str, options: dict[str, Any]
    ) -> None:
        data = saved(picture(mode), kind, **options)
        with PillowImage.open(io.BytesIO(data)) as opened:
            expected = opened.convert("RGB").tobytes()
        assert decoded(data) == Image(WIDTH, HEIGHT, expected, kind)  # type: ignore[arg-type]
        assert len(set(expected)) > 1

    def test_alpha_is_dropped_not_blended(self) -> None:
        assert pixels(png(2, 1, 8, 6, bytes([0, 9, 8, 7, 0, 200, 100, 50, 128]))) == [
            (9, 8, 7),
            (200, 100, 50),
        ]
        assert pixels(png(2, 1, 8, 4, bytes([0, 9, 0, 200, 128]))) == [(9, 9, 9), (200, 200, 200)]

    @pytest.mark.filterwarnings("ignore:Palette images with Transparency")
    def test_a_palette_is_looked_up_and_its_transparency_ignored(self) -> None:
        palette = chunk(b"PLTE", bytes([1, 2, 3, 40, 50, 60])) + chunk(b"tRNS", bytes([0, 128]))
        assert pixels(png(2, 1, 8, 3, bytes([0, 1, 0]), extra=palette)) == [(40, 50, 60), (1, 2, 3)]

    def test_a_transparent_colour_is_kept(self) -> None:
        key = chunk(b"tRNS", struct.pack(">HHH", 9, 8, 7))
        assert pixels(png(1, 1, 8, 2, bytes([0, 9, 8, 7]), extra=key)) == [(9, 8, 7)]

    def test_gray_of_few_bits_is_stretched(self) -> None:
        assert pixels(png(4, 1, 2, 0, bytes([0, 0b00011011]))) == [(v, v, v) for v in (0, 85, 170, 255)]
        assert pixels(png(2, 1, 1, 0, bytes([0, 0b01000000]))) == [(0, 0, 0), (255, 255, 255)]

    def test_sixteen_bit_colour_keeps_its_upper_byte(self) -> None:
        rgb = struct.pack(">xHHH", 0x12FF, 0x8000, 0xFFFF)
        assert pixels(png(1, 1, 16, 2, rgb)) == [(0x12, 0x80, 0xFF)]
        assert pixels(png(1, 1, 16, 6, rgb + b"\x00\x00")) == [(0x12, 0x80, 0xFF)]
        assert pixels(png(1, 1, 16, 4, struct.pack(">xHH", 0x3412, 7))) == [(0x34, 0x34, 0x34)]

    def test_sixteen_bit_gray_is_clamped_as_pillow_does(self) -> None:
        data = png(4, 1, 16, 0, struct.pack(">xHHHH", 0, 77, 255, 40000))
        assert pixels(data) == [(v, v, v) for v in (0, 77, 255, 255)]

    def test_an_orientation_tag_turns_nothing(self) -> None:
        exif = PillowImage.Exif()
        exif[0x0112] = 6
        for kind in ("PNG", "JPEG", "WEBP"):
            turned, plain = decoded(saved(picture(), kind, exif=exif)), decoded(saved(picture(), kind))
            assert turned == plain
            assert (turned.width, turned.height) == (WIDTH, HEIGHT)

    @pytest.mark.parametrize("kind", ["PNG", "WEBP"])
    def test_of_an_animation_the_first_frame_counts(self, kind: str) -> None:
        assert decoded(animated(kind)).rgb == picture().tobytes()

    def test_gamma_and_colour_profiles_are_not_applied(self) -> None:
        gamma = chunk(b"gAMA", struct.pack(">I", 100_000))
        assert pixels(png(1, 1, 8, 2, bytes([0, 9, 8, 7]), extra=gamma)) == [(9, 8, 7)]


class TestText:
    def test_bare_base64_and_data_urls_whatever_type_they_declare(self) -> None:
        expected = decoded(PNG)
        for head in (
            "",
            "data:image/png;base64,",
            "data:;base64,",
            "data:text/plain;charset=x;base64,",
            "data:image/gif;base64,",
        ):
            assert decode_image(head + text(PNG)) == expected

    def test_whitespace_anywhere_in_the_base64_is_removed(self) -> None:
        spaced = "".join(
            character + space
            for character, space in zip(text(PNG), " \n\t\r\u00a0\u2003\x1f" * 200, strict=False)
        )
        spaced += text(PNG)[len(spaced) // 2 :]
        assert decode_image(spaced) == decode_image("data:image/png;base64,\n" + spaced) == decoded(PNG)

    @pytest.mark.parametrize(
        ("item", "says"),
        [
            (None, "is not a string"),
            (7, "is not a string"),
            ({"url": "x"}, "is not a string"),
            ("", "is empty"),
            (" \n", "is empty"),
            ("data:image/png;base64,", "is empty"),
            ("not base64!", "is not valid base64"),
            ("=QUJ", "is not valid base64"),
            ("QUI", "is not valid base64: Incorrect padding"),
            ("QU-_", "is not valid base64"),
            ("QUJé", "is not valid base64"),
            ("http://example.org/a.png", "is not valid base64"),
            (" data:image/png;base64,QUJD", "is not valid base64"),
            ("data:image/png,QUJD", "is a data URL without ';base64,'"),
            ("data:image/png;base64", "is a data URL without ';base64,'"),
            ("data:image/png;BASE64,QUJD", "is a data URL without ';base64,'"),
            ("data:image/png;base64;x=1,QUJD", "is a data URL without ';base64,'"),
            ("QUJD", "holds no image that can be read; expected the bytes of a PNG, JPEG or WebP file"),
        ],
        ids=repr,
    )
    def test_text_that_is_no_image(self, item: Any, says: str) -> None:
        assert says in refusal(item)


class TestRefused:
    @pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "PPM", "ICO", "TGA", "JPEG2000", "PDF"])
    def test_other_formats(self, kind: str) -> None:
        assert "expected the bytes of a PNG, JPEG or WebP file" in refusal(text(saved(picture(), kind)))

    def test_a_file_of_two_pictures_that_pillow_calls_mpo(self) -> None:
        data = saved(picture(), "MPO", save_all=True, append_images=[picture()])
        assert data.startswith(b"\xff\xd8\xff")
        assert "is a file of format MPO; expected PNG, JPEG or WebP" in refusal(text(data))

    @pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
    def test_truncated_files(self, kind: str) -> None:
        data = saved(picture(size=(64, 64)), kind)
        for part in (0.3, 0.6, 0.9):
            assert refusal(text(data[: int(len(data) * part)]))

    def test_corrupt_files(self) -> None:
        broken = bytearray(PNG)
        broken[PNG.index(b"IDAT") + 20] ^= 0xFF
        assert "is damaged or incomplete and cannot be decoded" in refusal(text(bytes(broken)))
        assert "is damaged or incomplete" in refusal(text(png(4, 4, 8, 2, bytes(5))))

    def test_compressed_text_that_unpacks_to_more_than_pillow_allows(self) -> None:
        bomb = chunk(b"zTXt", b"note\0\0" + zlib.compress(bytes(64 * 2**20), 9))
        assert "cannot be decoded" in refusal(text(png(1, 1, 8, 2, bytes([0, 9, 8, 7]), extra=bomb)))

    def test_no_sides(self) -> None:
        assert refusal(text(png(0, 5, 8, 2, b"")))


class TestSize:
    @pytest.mark.parametrize("size", [(3072, 1024), (1024, 3072), (2048, 1536)])
    def test_at_the_pixel_limit(self, size: tuple[int, int]) -> None:
        image = decoded(saved(PillowImage.new("RGB", size), "PNG"))
        assert image.width * image.height == MAX_PIXELS == 3_145_728

    def test_over_it_nothing_is_decoded(self) -> None:
        # The pixel data are missing, which nobody would notice before decoding.
        assert "is 3072x1025, 3148800 pixels; at most 3145728" in refusal(text(png(3072, 1025, 8, 2, b"")))
        assert "is 3145729x1" in refusal(text(png(3_145_729, 1, 8, 2, b"")))

    @pytest.mark.parametrize("side", [16_384, 65_535, 2**31 - 1])
    def test_a_decompression_bomb(self, side: int) -> None:
        assert "has far more pixels than the 3145728" in refusal(text(png(side, side, 8, 2, b"")))

    def test_a_webp_whose_canvas_is_a_bomb(self) -> None:
        canvas = (2**14 - 2).to_bytes(3, "little")
        payload = b"VP8X" + struct.pack("<I", 10) + bytes(4) + canvas + canvas
        assert refusal(text(b"RIFF" + struct.pack("<I", len(payload) + 4) + b"WEBP" + payload))

    def test_one_side_may_be_200_times_the_other(self) -> None:
        assert decoded(saved(PillowImage.new("RGB", (200, 1)), "PNG")).width == 200
        assert decoded(saved(PillowImage.new("RGB", (3, 600)), "PNG")).height == 600
        assert "the longer side may be at most 200 times" in refusal(
            text(saved(PillowImage.new("RGB", (201, 1)), "PNG"))
        )
        assert "is 3x601" in refusal(text(saved(PillowImage.new("RGB", (3, 601)), "PNG")))


def test_a_request_carries_its_images_in_order() -> None:
    kinds = ("PNG", "JPEG", "WEBP", "PNG")
    request = parse(body(images=[text(saved(picture(), kind)) for kind in kinds]))
    assert tuple(image.format for image in request.images) == kinds


def test_the_image_at_fault_is_named() -> None:
    with pytest.raises(ContractError, match=r"^image 1 is not valid base64"):
        parse(body(images=[text(PNG), "?", "!"]))


SAMPLES = [
    *(saved(picture(mode), "PNG") for mode in ("RGB", "P", "I;16")),
    *(saved(picture(mode), "JPEG") for mode in ("RGB", "CMYK")),
    saved(picture(), "WEBP"),
    animated("WEBP"),
    animated("PNG"),
    saved(picture(), "MPO", save_all=True, append_images=[picture()]),
]


@pytest.mark.filterwarnings("ignore")
@given(st.sampled_from(SAMPLES), st.data())
def test_any_damage_gives_an_image_or_a_refusal(sample: bytes, data: st.DataObject) -> None:
    broken = bytearray(sample)
    for _ in range(data.draw(st.integers(0, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    broken = broken[: data.draw(st.integers(1, len(broken)))]
    try:
        image = decode_image(base64.b64encode(broken).decode())
    except ContractError as error:
        assert error.detail.startswith("image ")  # noqa: PT017
    else:
        assert len(image.rgb) == image.width * image.height * 3
