//! The models that can be downloaded.

/// A model that can be downloaded, and what a person is told before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// `gpt-oss-20b`.
    pub id: &'static str,
    /// What people read.
    pub name: &'static str,
    /// Owner and name of the repository on the server.
    pub repository: &'static str,
    /// The file in it, whatever its case there, and the file here.
    pub file: &'static str,
    /// About how many bytes it has; the server's listing says it exactly.
    pub about_bytes: u64,
    /// `Apache-2.0`.
    pub licence: &'static str,
    /// The text of the licence.
    pub licence_url: &'static str,
    /// The page of the model.
    pub source: &'static str,
}

/// The model of this product. 12,109,566,624 bytes when it was measured.
pub const GPT_OSS_20B: Offer = Offer {
    id: "gpt-oss-20b",
    name: "GPTOSS 20B",
    repository: "ggml-org/gpt-oss-20b-GGUF",
    file: "gpt-oss-20b-MXFP4.gguf",
    about_bytes: 12_109_566_624,
    licence: "Apache-2.0",
    licence_url: "https://www.apache.org/licenses/LICENSE-2.0",
    source: "https://huggingface.co/ggml-org/gpt-oss-20b-GGUF",
};

/// Every model that can be downloaded.
pub const OFFERS: [Offer; 1] = [GPT_OSS_20B];

/// Returns the model with an id.
pub fn offer(id: &str) -> Option<&'static Offer> {
    OFFERS.iter().find(|offer| offer.id == id)
}
