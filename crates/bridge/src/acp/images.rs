//! The images of prompts: checked before an agent gets them, and made smaller where they are large.

use agent_client_protocol_schema::v1::ImageContent;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use image::{
    DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits, Rgba, RgbaImage,
    codecs::jpeg::JpegEncoder,
    imageops::{FilterType, overlay},
};
use openagents_core::update::PromptImage;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::io::Cursor;

/// Maximum number of images in a prompt, and of their bytes together.
const COUNT: usize = 10;
const TOTAL_BYTES: usize = 20 << 20;
/// The longest side and the size that agents accept everywhere: 2,000 pixels and 5 MiB.
const SIDE: u32 = 2_000;
const BYTES: usize = 5 << 20;
/// An image that is larger when decoded is refused.
const DECODED_BYTES: u64 = 256 << 20;
/// Held while an image is decoded, which may take that much memory.
static DECODING: Mutex<()> = Mutex::new(());
const JPEG_QUALITY: u8 = 85;

#[derive(Debug, thiserror::Error)]
pub(super) enum ImageError {
    #[error("A prompt may have {COUNT} images at most.")]
    TooMany,
    #[error("The images of a prompt may have {} MiB at most together; send fewer or smaller ones.", TOTAL_BYTES >> 20)]
    TooLarge,
    #[error("An image is not valid Base64.")]
    Base64,
    #[error("An image is not a PNG, JPEG, GIF or WebP file; convert it.")]
    Format,
    #[error("An image cannot be read: {0}.")]
    Broken(image::ImageError),
}

/// Checks the images of a prompt. Decodes each one, since agents pass broken ones on to their models. Blocks.
pub(super) fn check(images: &[ImageContent]) -> Result<Vec<(PromptImage, Vec<u8>)>, ImageError> {
    if images.len() > COUNT {
        return Err(ImageError::TooMany);
    }
    let checked = images.iter().map(check_one).collect::<Result<Vec<_>, _>>()?;
    match checked.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > TOTAL_BYTES {
        true => Err(ImageError::TooLarge),
        false => Ok(checked),
    }
}

fn check_one(image: &ImageContent) -> Result<(PromptImage, Vec<u8>), ImageError> {
    let bytes = BASE64_STANDARD.decode(image.data.trim()).map_err(|_| ImageError::Base64)?;
    let mut reader = ImageReader::new(Cursor::new(&bytes));
    let format = image::guess_format(&bytes).map_err(|_| ImageError::Format)?;
    if !matches!(format, ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::WebP) {
        return Err(ImageError::Format);
    }
    reader.set_format(format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODED_BYTES);
    reader.limits(limits);
    let _decoding = DECODING.lock();
    let mut decoder = reader.into_decoder().map_err(ImageError::Broken)?;
    let orientation = decoder.orientation().map_err(ImageError::Broken)?;
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(ImageError::Broken)?;
    decoded.apply_orientation(orientation);
    let is_small = decoded.width().max(decoded.height()) <= SIDE && bytes.len() <= BYTES;
    let (decoded, format, bytes) = match is_small {
        true => (decoded, format, bytes),
        false => smaller(&decoded)?,
    };
    let image = PromptImage {
        hash: hash(&bytes),
        mime_type: format.to_mime_type().to_owned(),
        width: decoded.width(),
        height: decoded.height(),
    };
    Ok((image, bytes))
}

fn smaller(image: &DynamicImage) -> Result<(DynamicImage, ImageFormat, Vec<u8>), ImageError> {
    let side = image.width().max(image.height()).min(SIDE);
    let image = image.resize(side, side, FilterType::Triangle).into_rgba8();
    // JPEG has no transparency, and most images are drawn for a light page.
    let mut opaque = RgbaImage::from_pixel(image.width(), image.height(), Rgba([u8::MAX; 4]));
    overlay(&mut opaque, &image, 0, 0);
    let image = DynamicImage::from(DynamicImage::from(opaque).into_rgb8());
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    image.write_with_encoder(encoder).map_err(ImageError::Broken)?;
    Ok((image, ImageFormat::Jpeg, bytes))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> ImageContent {
        let noise = |x: u32, y: u32| image::Rgb([(x * 7) as u8, (y * 11) as u8, (x ^ y) as u8]);
        let image = DynamicImage::from(image::RgbImage::from_fn(width, height, noise));
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        ImageContent::new(BASE64_STANDARD.encode(bytes.into_inner()), "image/anything")
    }

    #[test]
    fn images_are_checked_and_made_smaller() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let sent = encoded(40, 30, format);
            let (image, bytes) = check(std::slice::from_ref(&sent)).unwrap().remove(0);
            assert_eq!(
                (image.mime_type.as_str(), image.width, image.height),
                (format.to_mime_type(), 40, 30)
            );
            assert_eq!(BASE64_STANDARD.encode(bytes), sent.data);
            assert_eq!(image.hash.len(), 64);
        }
        let (image, bytes) = check(&[encoded(4_000, 1_000, ImageFormat::Png)]).unwrap().remove(0);
        assert_eq!((image.mime_type.as_str(), image.width, image.height), ("image/jpeg", 2_000, 500));
        assert!(bytes.len() < BYTES);
    }

    #[test]
    fn transparent_images_become_white() {
        let clear = DynamicImage::from(RgbaImage::from_pixel(2_400, 10, Rgba([0, 0, 0, 0])));
        let mut bytes = Cursor::new(Vec::new());
        clear.write_to(&mut bytes, ImageFormat::Png).unwrap();
        let sent = ImageContent::new(BASE64_STANDARD.encode(bytes.into_inner()), "image/png");
        let (_, bytes) = check(&[sent]).unwrap().remove(0);
        let shown = image::load_from_memory(&bytes).unwrap().into_rgb8();
        assert!(shown.pixels().all(|pixel| pixel.0.iter().all(|value| *value > 250)));
    }

    #[test]
    fn broken_images_are_refused_with_the_reason() {
        let mut cut = encoded(40, 30, ImageFormat::Png);
        cut.data.truncate(80);
        let svg = BASE64_STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg'/>");
        for (data, expected) in [
            (cut.data, "An image cannot be read: "),
            ("no base64!".to_owned(), "An image is not valid Base64."),
            (svg, "An image is not a PNG"),
            (String::new(), "An image is not a PNG"),
        ] {
            let error = check(&[ImageContent::new(data, "image/png")]).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let many = vec![encoded(1, 1, ImageFormat::Png); COUNT + 1];
        assert!(matches!(check(&many), Err(ImageError::TooMany)));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_checked(bytes: Vec<u8>, start in 0..5_usize) {
            let starts: [&[u8]; 5] = [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"];
            let bytes = [starts[start], &bytes].concat();
            let _ = check(&[ImageContent::new(BASE64_STANDARD.encode(bytes), "image/png")]);
        }
    }
}
